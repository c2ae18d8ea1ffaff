/** The entry of an encoding thread: one block in, one encoded block out. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Encoding, RowWriter, RowWriterFactory } from '../types/index.ts';
import { encodeBlock } from './encode-block.ts';
import { type Answer, type EncodingSetup, type Job, type ThreadStart, toFailure } from './protocol.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the entry of a worker thread');

const { writerModule } = workerData as ThreadStart;
const { createRowWriter } = (await import(writerModule)) as { readonly createRowWriter: RowWriterFactory };

/** The encoding of the blocks, and its writer. */
interface Work {
  readonly encoding: Encoding;
  writer: RowWriter;
}

let work: Work | undefined;

function newWriter({ columns, writerOptions, where }: Encoding): RowWriter {
  return createRowWriter(columns, writerOptions, where);
}

function answerTo({ block, inPlace }: Job): EncodedAnswer {
  if (work === undefined) throw new Error('a block came before the encoding');
  const { encoding, writer } = work;
  try {
    const { buffer } = block.bytes;
    const encoded = encodeBlock(block, encoding, writer, inPlace ? buffer : undefined);
    const moved = [encoded.payload.buffer, encoded.rejects.buffer].filter((one) => one instanceof ArrayBuffer);
    return { answer: { encoded }, moved };
  } catch (error) {
    // The failed writer's state must not reach the next block.
    work.writer = newWriter(encoding);
    return { answer: { failed: toFailure(error) }, moved: [] };
  }
}

interface EncodedAnswer {
  readonly answer: Answer;
  readonly moved: readonly ArrayBuffer[];
}

port.on('message', (message: EncodingSetup | Job) => {
  if ('encoding' in message) {
    work = { encoding: message.encoding, writer: newWriter(message.encoding) };
    return;
  }
  const { answer, moved } = answerTo(message);
  port.postMessage(answer, moved);
});
