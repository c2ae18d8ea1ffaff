/** Entry of a process that holds an embedded server: prints its endpoint, then waits for a line or the end of stdin. */
import { once } from 'node:events';
import { leaseEmbeddedServer } from '../../../connectors/clickhouse/embedded/launch.ts';

const [folder = ''] = process.argv.slice(2);
const server = await leaseEmbeddedServer(folder, new AbortController().signal);
process.stdout.write(`${JSON.stringify(server.endpoint)}\n`);
process.stdin.resume();
await Promise.race([once(process.stdin, 'data'), once(process.stdin, 'end')]);
server.release();
process.stdin.destroy();
