/**
 * A downloading process for tests to kill or starve: `node downloader.ts <url> <key> <dataDir> [stallMs]`. Prints what it
 * read, then its end.
 */
import { connector, download } from './downloads.ts';

const [url = '', apiKey = '', dataDir = '', stallMs = '5000'] = process.argv.slice(2);
const source = connector(url, dataDir, { apiKey, stallMs: Number(stallMs) });
const { error, bytes } = await download(source, (read) => process.stdout.write(`${read}\n`));
process.stdout.write(
  `${JSON.stringify({ code: error?.code ?? 'complete', message: error?.message, bytes: bytes.length })}\n`,
);
await source.close();
