/** Byte ranges as the service accepts them: one range, else 416 (docs/service.md, "Errors"; RFC 9110, 14). Pure. */

export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable'; readonly reason: string };

const unsatisfiable = (reason: string): RangeAnswer => ({ kind: 'unsatisfiable', reason });

/** Parses a Range header for `size` bytes; `end` is the last byte, inclusive. */
export function parseRange(header: string | undefined, size: number): RangeAnswer {
  if (header === undefined) return { kind: 'whole' };
  if (header.includes(',')) return unsatisfiable('Multiple ranges are not supported');
  const match = /^\s*bytes=\s*(\d*)-(\d*)\s*$/i.exec(header);
  const [, first = '', last = ''] = match ?? [];
  if (match === null || (first === '' && last === '')) return unsatisfiable('Malformed range');
  if (first === '') {
    const count = Number(last);
    if (count === 0 || size === 0) return unsatisfiable('Range not satisfiable');
    return { kind: 'part', start: Math.max(0, size - count), end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return unsatisfiable('Malformed range');
  if (start >= size) return unsatisfiable('Range not satisfiable');
  return { kind: 'part', start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/**
 * Whether If-Range lets the Range apply: it must equal the file's strong entity tag or Last-Modified date exactly
 * (RFC 9110, 13.1.5). A weak tag never matches.
 */
export function ifRangeHolds(
  header: string | undefined,
  file: { readonly etag: string | null; readonly lastModified: string | null },
): boolean {
  if (header === undefined) return true;
  if (header.startsWith('W/')) return false;
  return header.startsWith('"') ? header === file.etag : header === file.lastModified;
}
