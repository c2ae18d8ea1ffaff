/** The key from bytes: most need no string. */

import * as kinds from '../scan/kinds.ts';
import type { Line } from '../scan/line.ts';
import { MAX_DOMAIN_BYTES, type Refusal, toDomain } from './domain.ts';
import { TokenText } from './text.ts';

const { MISSING, NULL, STRING } = kinds;

const DOT = 0x2e;

/** 1 for what the rule leaves as it is wherever it stands: printable ASCII but for capitals. */
const UNCHANGED = new Uint8Array(256).fill(1, 0x21, 0x7f).fill(0, 0x41, 0x5b);

/** Reads the key of one line after the other. */
export class DomainReader {
  /** The key that was read last. */
  readonly text: TokenText;
  readonly #line: Line;

  constructor(line: Line) {
    this.#line = line;
    this.text = new TokenText(line);
  }

  /** @returns why the value is no key; undefined when it is one */
  read(token: number): Refusal | undefined {
    const { tape } = this.#line;
    const kind = tape.kind(token);
    if (kind !== STRING) {
      const absent = token === MISSING ? undefined : kind;
      return toDomain(kind === NULL ? null : absent) as Refusal;
    }
    const { bytes, start, end } = this.text.readString(token);
    if (isUnchanged(bytes.buffer, start, end)) return undefined;
    const domain = toDomain(this.text.toString());
    if (typeof domain !== 'string') return domain;
    this.text.readText(domain);
    return undefined;
  }
}

function isUnchanged(bytes: Buffer<ArrayBuffer>, start: number, end: number): boolean {
  if (start === end || end - start > MAX_DOMAIN_BYTES || bytes[end - 1] === DOT) return false;
  for (let at = start; at < end; at++) if (UNCHANGED[bytes[at] as number] === 0) return false;
  return true;
}
