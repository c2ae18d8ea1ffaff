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

port.on('message', ({ block, spare }: Job) => {
  try {
    const encoded = encodeBlock(block, encoding, writer, spare);
    const moved: ArrayBuffer[] = [encoded.payload.buffer];
    const raw = encoded.rejects[0]?.raw.buffer;
    if (raw instanceof ArrayBuffer) moved.push(raw);
    // Frees the block's memory now, and a buffer that was of no use: the collector of this thread, whose own heap stays
    // small, may let it lie for long.
    block.bytes.buffer.transfer(0);
    if (spare !== undefined && spare !== encoded.payload.buffer && !spare.detached) spare.transfer(0);
    port.postMessage({ encoded } satisfies Answer, moved);
  } catch (error) {
    // Whatever state the writer was left in must not reach the next block.
    writer = newWriter();
    port.postMessage({ failed: toFailure(error) } satisfies Answer);
  }
});
