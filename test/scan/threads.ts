/**
 * Threads that encode the first lines of their modules at the same moment, again and again: `node threads.ts <rounds>`. Values call the
 * host so often that V8 wants to compile the way there, in all threads at once.
 */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createRowWriter } from '../../connectors/clickhouse/format/native.ts';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { COLUMNS } from '../../src/rows/columns.ts';

const THREADS = 4;
const LINES = 3000;

if (isMainThread) {
  for (let round = 0; round < Number(process.argv[2]); round++) {
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const threads = Array.from({ length: THREADS }, () => new Worker(new URL(import.meta.url), { workerData: gate }));
    await Promise.all(threads.map((thread) => once(thread, 'message')));
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    await Promise.all(threads.map((thread) => once(thread, 'exit')));
  }
} else {
  // The module asks the host for a number with such an exponent.
  const line = (n: number): string => `{"Domain":"a${n}.de","PR value":1.${n}e-300}\n`;
  const bytes = Buffer.from(Array.from({ length: LINES }, (_, n) => line(n)).join(''));
  const options = { fileDate: '2026-01-31', revision: 0, source: 'dns' };
  const writer = createRowWriter(COLUMNS, options, []);
  parentPort?.postMessage('ready');
  Atomics.wait(workerData as Int32Array, 0, 0);
  const { counts } = encodeBlock(
    { number: 0, firstLine: 1, lines: LINES, bytes },
    { writerModule: '', writerOptions: options, columns: COLUMNS, where: [] },
    writer,
  );
  if (counts.rows !== LINES) throw new Error(`${counts.rows} rows of ${LINES} lines`);
}
