/** The entry of an encoding thread: one block in, one encoded block out. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Encoding, RowWriterFactory } from '../types.ts';
import { encodeBlock } from './encode-block.ts';
import { type Answer, type Job, toFailure } from './protocol.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the entry of a worker thread');

const encoding = workerData as Encoding;
const { createRowWriter } = (await import(encoding.writerModule)) as { readonly createRowWriter: RowWriterFactory };
const newWriter = () => createRowWriter(encoding.columns, encoding.writerOptions, encoding.where);

let writer = newWriter();

port.on('message', ({ block, inPlace }: Job) => {
  try {
    const { buffer } = block.bytes;
    const encoded = encodeBlock(block, encoding, writer, inPlace ? buffer : undefined);
    const moved = [encoded.payload.buffer, encoded.rejects[0]?.raw.buffer].filter((one) => one instanceof ArrayBuffer);
    port.postMessage({ encoded } satisfies Answer, moved);
  } catch (error) {
    // Whatever state the writer was left in must not reach the next block.
    writer = newWriter();
    port.postMessage({ failed: toFailure(error) } satisfies Answer);
  }
});
