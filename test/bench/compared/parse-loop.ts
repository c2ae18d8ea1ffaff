/** `node parse-loop.ts <file>`: JSON.parse of every line, and nothing else; prints the seconds that took, without decompressing. */
import { readFileSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';

const [path = ''] = process.argv.slice(2);
const bytes = zstdDecompressSync(readFileSync(path));
let seconds = 0;
let rows = 0;
/** Strings of more would not fit. */
const PIECE = 64 * 1024 * 1024;
for (let start = 0; start < bytes.length; ) {
  // Not lastIndexOf from a place: beyond 2 GiB there is none.
  const piece = bytes.subarray(start, start + PIECE);
  const end = start + PIECE >= bytes.length ? bytes.length : start + piece.lastIndexOf(0x0a) + 1;
  const lines = bytes.toString('utf8', start, end).split('\n');
  const from = performance.now();
  for (const line of lines) {
    if (line === '') continue;
    JSON.parse(line);
    rows += 1;
  }
  seconds += (performance.now() - from) / 1000;
  start = end;
}
process.stdout.write(JSON.stringify({ rows, seconds }));
