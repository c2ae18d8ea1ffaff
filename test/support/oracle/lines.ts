/** docs/contract.md, "Lines" and "Rejected lines": splits a file's decompressed bytes into lines, each a row or a reject. */
import { parseJson } from './json.ts';

export interface ExpectedReject {
  readonly line: number;
  readonly reason: string;
  /** "the first 64 KiB of the line" */
  readonly raw: Buffer;
}

/** A line's JSON object, with the domain that it is about. */
export interface ExpectedLine {
  readonly domain: string;
  readonly members: Readonly<Record<string, unknown>>;
}

const MIB = 1024 * 1024;

/** All lines in their order; blank ones are left out. */
export function* readLines(file: Uint8Array): Generator<{ line: ExpectedLine } | { reject: ExpectedReject }> {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  // "a leading byte order mark [is] no fault"
  let start = bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 3 : 0;
  for (let number = 1; start < bytes.length; number += 1) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline === -1 ? bytes.length : newline;
    // "CRLF [is] no fault": the CR belongs to the line's end.
    const line = bytes.subarray(start, end > start && bytes[end - 1] === 0x0d ? end - 1 : end);
    start = end + 1;
    const outcome = judge(line);
    if (outcome === 'blank') continue;
    if (typeof outcome !== 'string') yield { line: outcome };
    else yield { reject: { line: number, reason: outcome, raw: line.subarray(0, 64 * 1024) } };
  }
}

/** The reason of a reject, the first that holds. */
function judge(bytes: Buffer): ExpectedLine | 'blank' | string {
  if (bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)) return 'blank';
  if (bytes.length > 16 * MIB) return 'line-too-long';
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return 'invalid-utf8';
  }
  const value = parseJson(text);
  if (value === undefined) return 'invalid-json';
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not-an-object';
  const members = value as Record<string, unknown>;
  const named = Object.hasOwn(members, 'Domain') ? members['Domain'] : undefined;
  if (typeof named !== 'string') return 'missing-domain';
  const domain = normalDomain(named);
  if (domain === '' || named.trim() === '.') return 'missing-domain';
  return isValidDomain(domain) ? { domain, members } : 'invalid-domain';
}

/** "trimmed, lower case (as JavaScript's), one trailing dot removed" */
function normalDomain(named: string): string {
  const lower = named.trim().toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/** "over 253 bytes after the rule, white space as JavaScript's `\s` or a control character, C0 or DEL, inside" */
function isValidDomain(domain: string): boolean {
  if (Buffer.byteLength(domain) > 253 || /\s/.test(domain)) return false;
  return ![...domain].some((character) => character < ' ' || character === '\x7f');
}
