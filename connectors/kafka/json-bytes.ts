/** Pieces of JSON, written as bytes. */
import type { Bytes } from '../../src/types.ts';
import { writeIsoTime } from './iso-time.ts';

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const HEX = Buffer.from('0123456789abcdef');
/** For each byte: 0 where a JSON string holds it as it is, the letter of its short escape, or LONG. */
const LONG = 1;
const ESCAPES = new Uint8Array(256).fill(LONG, 0, SPACE);
for (const [index, character] of [...'\b\f\n\r\t"\\'].entries()) {
  ESCAPES[character.charCodeAt(0)] = 'bfnrt"\\'.charCodeAt(index);
}
export const NULL = Buffer.from('null');
/** `\u00` and two digits. */
export const LONGEST_ESCAPE = 6;

/** Bytes that are written often, as words of four: written with as many steps as words. */
export interface Words {
  readonly bytes: number;
  readonly words: Int32Array;
}

/** What is written of them may be up to three bytes longer than they are. */
export const WORD_SLACK = 4;

export function wordsOf(bytes: Buffer): Words {
  const padded = Buffer.concat([bytes, Buffer.alloc(WORD_SLACK)]);
  const count = Math.ceil(bytes.length / 4);
  return { bytes: bytes.length, words: Int32Array.from({ length: count }, (_, i) => padded.readInt32LE(i * 4)) };
}

/** @returns where it ends */
export function writeWords(to: DataView, at: number, { bytes, words }: Words): number {
  for (let i = 0; i < words.length; i++) to.setInt32(at + i * 4, words[i] as number, true);
  return at + bytes;
}

/** A call into the runtime costs more than a loop of words over as many bytes. */
const SHORT = 96;

/** There must be room for WORD_SLACK more. @returns how many bytes */
export function copyBytes(from: Bytes, start: number, end: number, to: Buffer, view: DataView, at: number): number {
  const length = end - start;
  if (length > SHORT || end + WORD_SLACK > from.buffer.length) return from.buffer.copy(to, at, start, end);
  for (let i = 0; i < length; i += 4) view.setInt32(at + i, from.view.getInt32(start + i, true), true);
  return length;
}

/** The bytes as a JSON string holds them. @returns where it ends */
export function escapeBytes(from: Buffer, start: number, end: number, to: Buffer, begin: number): number {
  let at = begin;
  for (let i = start; i < end; i++) {
    const byte = from[i] as number;
    const short = ESCAPES[byte] as number;
    if (short === 0) {
      to[at++] = byte;
      continue;
    }
    to[at++] = BACKSLASH;
    if (short !== LONG) {
      to[at++] = short;
      continue;
    }
    at += to.write('u00', at, 'latin1');
    to[at++] = HEX[byte >> 4] as number;
    to[at++] = HEX[byte & 0xf] as number;
  }
  return at;
}

/** A time as a JSON string, or null. @returns where it ends */
export function quotedTime(to: Buffer, at: number, value: number | null): number {
  if (value === null) return at + NULL.copy(to, at);
  to[at] = QUOTE;
  const end = writeIsoTime(to, at + 1, value);
  to[end] = QUOTE;
  return end + 1;
}
