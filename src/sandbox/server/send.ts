/** Sends a reply over a real socket, with the faults that affect sending. */
import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault, faultOf } from './faults.ts';
import { bodyLength, type FilePart, type Reply } from './reply.ts';

interface Sending {
  readonly faults: readonly Fault[];
  /** Aborts when the peer or the sandbox ends the connection. */
  readonly signal: AbortSignal;
  /** Receives the number of body bytes that the socket accepted. */
  readonly sent: (bytes: number) => void;
  /** Replaces the file being sent. */
  readonly replace: (by: 'revision' | 'snapshot') => Promise<void>;
}

/** Read and write size. Large enough that writing one piece at a time does not slow down. */
const PIECE_BYTES = 1 << 18;

/** An event at a position in the body. */
interface Event {
  readonly at: number;
  /** Resolves with true if sending is over. */
  readonly run: () => Promise<boolean>;
}

/** Sends a whole reply. @throws an AbortError if the connection ends first, and disk errors */
export async function send(response: ServerResponse, reply: Reply, sending: Sending): Promise<void> {
  const { faults, signal } = sending;
  const length = bodyLength(reply.body);
  const headers: Record<string, string> = { ...reply.headers };
  if (faultOf(faults, 'chunked') === undefined) headers['Content-Length'] = String(length);
  response.writeHead(reply.status, headers);
  response.flushHeaders();
  const events = eventsOf(response, sending);
  const slow = faultOf(faults, 'slow');
  // Twenty small pieces a second look like a slow line; one big piece each second would look like a stalled one.
  const pieceBytes = slow === undefined ? PIECE_BYTES : Math.max(1, Math.floor(slow.bytesPerSecond / 20));
  let position = 0;
  for await (const chunk of bytesOf(reply.body, faults)) {
    for (let at = 0; at < chunk.length; ) {
      if (await runEvents(events, position)) return;
      const next = Math.min(at + pieceBytes, chunk.length, at + (events[0]?.at ?? Infinity) - position);
      const piece = chunk.subarray(at, next);
      await taken(signal, (done) => response.write(piece, done));
      sending.sent(piece.length);
      position += piece.length;
      at = next;
      if (slow !== undefined) await sleep((piece.length / slow.bytesPerSecond) * 1000, undefined, { signal });
    }
  }
  if (await runEvents(events, position)) return;
  await taken(signal, (done) => response.end(done));
}

/** Runs the events due at a position; true if sending is over. */
async function runEvents(events: Event[], position: number): Promise<boolean> {
  while (events[0] !== undefined && events[0].at <= position) {
    if (await events.shift()?.run()) return true;
  }
  return false;
}

function eventsOf(response: ServerResponse, { faults, signal, replace }: Sending): Event[] {
  const events: Event[] = [];
  const destroy = (reset: boolean): boolean => {
    if (reset) response.socket?.resetAndDestroy();
    else response.socket?.destroy();
    return true;
  };
  for (const fault of faults) {
    if (fault.kind === 'cut') {
      events.push({ at: fault.afterBytes, run: async () => destroy(fault.reset ?? false) });
    } else if (fault.kind === 'stall') {
      events.push({ at: fault.afterBytes, run: () => ended(signal) });
    } else if (fault.kind === 'replace') {
      const run = async (): Promise<boolean> => {
        await replace(fault.by);
        return fault.cut === true ? destroy(false) : false;
      };
      events.push({ at: fault.afterBytes, run });
    }
  }
  return events.sort((a, b) => a.at - b.at);
}

/** Resolves with true when the connection has ended. */
function ended(signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(true);
    else signal.addEventListener('abort', () => resolve(true), { once: true });
  });
}

async function* bytesOf(body: Buffer | FilePart, faults: readonly Fault[]): AsyncGenerator<Buffer> {
  const corrupt = faultOf(faults, 'corrupt');
  let offset = Buffer.isBuffer(body) ? 0 : body.start;
  for await (const chunk of chunksOf(body)) {
    const at = corrupt === undefined ? -1 : corrupt.atByte - offset;
    if (at >= 0 && at < chunk.length) chunk[at] = (chunk[at] ?? 0) ^ 0xff;
    offset += chunk.length;
    yield chunk;
  }
}

async function* chunksOf(body: Buffer | FilePart): AsyncGenerator<Buffer> {
  if (body.length === 0) return;
  if (Buffer.isBuffer(body)) {
    yield body;
    return;
  }
  const { path, start, length } = body;
  yield* createReadStream(path, { start, end: start + length - 1, highWaterMark: PIECE_BYTES });
}

/**
 * Resolves when the socket has accepted the bytes from `hand`, so that a cut comes after them and only sent bytes are
 * counted. A destroyed socket may never call back, so the signal ends the wait.
 */
function taken(signal: AbortSignal, hand: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason);
    if (signal.aborted) return aborted();
    signal.addEventListener('abort', aborted, { once: true });
    hand((error) => {
      signal.removeEventListener('abort', aborted);
      if (error === null || error === undefined) resolve();
      else reject(error);
    });
  });
}
