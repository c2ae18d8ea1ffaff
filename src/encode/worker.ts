/** The entry of an encoding thread: one block in, one encoded block out. */
import { parentPort, workerData } from 'node:worker_threads';
import type { EncodedBlock, Encoding, RowWriterFactory } from '../types.ts';
import { encodeBlock } from './encode-block.ts';
import { type Answer, type Job, toFailure } from './protocol.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the entry of a worker thread');

const encoding = workerData as Encoding;
const { createRowWriter } = (await import(encoding.writerModule)) as { readonly createRowWriter: RowWriterFactory };
const newWriter = () => createRowWriter(encoding.columns, encoding.writerOptions);

let writer = newWriter();
/** Memory of this thread, kept from block to block, in which payloads are put together. */
let spare: ArrayBuffer | undefined;

port.on('message', ({ block, inPlace }: Job) => {
  try {
    // Shared memory is read like any other. The type says that it can be moved, which nobody here does.
    const bytes = block.bytes as Uint8Array as Uint8Array<ArrayBuffer>;
    const encoded = encodeBlock({ ...block, bytes }, encoding, writer, spare);
    const raw = encoded.rejects[0]?.raw.buffer;
    const moved = raw instanceof ArrayBuffer ? [raw] : [];
    const shared = inPlace ? putInPlace(encoded.payload, block.bytes.buffer) : null;
    if (shared === null && encoded.payload.buffer instanceof ArrayBuffer) moved.push(encoded.payload.buffer);
    port.postMessage({ encoded: { ...encoded, payload: shared ?? encoded.payload } } satisfies Answer, moved);
  } catch (error) {
    // Whatever state the writer was left in must not reach the next block.
    writer = newWriter();
    spare = undefined;
    port.postMessage({ failed: toFailure(error) } satisfies Answer);
  }
});

/** The payload where its block was, which nobody needs any more; null when it does not fit. */
function putInPlace(payload: EncodedBlock['payload'], memory: SharedArrayBuffer): Uint8Array | null {
  if (payload.length > memory.byteLength) return null;
  const shared = new Uint8Array(memory, 0, payload.length);
  shared.set(payload);
  const { buffer } = payload;
  // A writer that makes new memory each time would leave it to the collector, which may let it lie for long.
  if (spare !== buffer && spare?.detached === false) spare.transfer(0);
  spare = buffer instanceof ArrayBuffer ? buffer : undefined;
  return shared;
}
