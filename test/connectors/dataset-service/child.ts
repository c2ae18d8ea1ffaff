/** A process that downloads, to be killed: `node child.ts <url> <dataDir>`. Prints how far it got, line by line. */
import { source, TARGET } from './service.ts';

const [url = '', dataDir = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const service = source(url, dataDir);
const spooled = await service.open(TARGET, await service.newest(TARGET, signal), signal);
for await (const _ of spooled.read(signal)) console.log(spooled.available());
await spooled.complete;
await service.close();
