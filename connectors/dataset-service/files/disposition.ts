/** The file names in a Content-Disposition header, in every form that servers send. Pure. */

/** A parameter: `name=token` or `name="quoted"`. */
const PARAMETER = /;\s*([^\s=;]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))/gsu;
/** RFC 2047. It is not meant for HTTP, but servers send it. */
const ENCODED_WORD = /^=\?([^?]+)\?([bq])\?([^?]*)\?=$/iu;
/** Longer headers are ignored. */
const MAX_HEADER = 8192;

/**
 * The names in a header, the best first, as they are written: not safe on disk. `filename*` (RFC 8187) goes before `filename`
 * (RFC 6266, 4.3). A `filename` with percent signs is also given decoded, as browsers read it.
 * @param header one character per byte, as HTTP headers are read
 */
export function suggestedNames(header: string): string[] {
  if (header.length > MAX_HEADER) return [];
  const extended: (string | null)[] = [];
  const plain: (string | null)[] = [];
  const parts = new Map<number, string>();
  let encodedParts = false;
  for (const [, field = '', quoted, token = ''] of `;${afterType(header)}`.matchAll(PARAMETER)) {
    // Any other backslash belongs to a Windows path: removing it would join the segments.
    const value = quoted === undefined ? token.trim() : quoted.replace(/\\(["\\])/gu, '$1');
    const key = field.toLowerCase();
    const [, number, star] = /^filename\*(\d{1,2})(\*?)$/u.exec(key) ?? [];
    if (key === 'filename*') extended.push(decodeExtended(value));
    if (key === 'filename') plain.push(percentDecoded(asUtf8(value)), asUtf8(value), encodedWord(value));
    if (number !== undefined) {
      parts.set(Number(number), value);
      encodedParts ||= star === '*';
    }
  }
  if (parts.size > 0) extended.push(joined(parts, encodedParts));
  const names = [...extended, ...plain].filter((name) => name !== null && name.trim() !== '');
  return [...new Set(names.map((name) => String(name).trim()))];
}

/** The parameters, without the leading `attachment`, which some servers omit. */
function afterType(header: string): string {
  return /^\s*[^\s=;"]+\s*(?:;|$)/u.test(header) ? header.slice(header.search(/;|$/u) + 1) : header;
}

/** RFC 2231: `filename*0*=UTF-8''a; filename*1*=b`. */
function joined(parts: ReadonlyMap<number, string>, encoded: boolean): string | null {
  const text = [...parts].sort(([a], [b]) => a - b).map(([, value]) => value);
  return encoded ? decodeExtended(text.join('')) : asUtf8(text.join(''));
}

/** Many servers send UTF-8, where the standard asks for ASCII. */
function asUtf8(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return bytes.toString('latin1') === value ? (decode(bytes, 'utf-8') ?? value) : value;
}

/** `charset'language'percent-encoded`. Some servers omit the first two. */
function decodeExtended(value: string): string | null {
  const [, charset = 'utf-8', encoded = value] = /^([^']*)'[^']*'(.*)$/su.exec(value) ?? [];
  const bytes = percentBytes(encoded);
  return bytes === null ? null : decode(bytes, charset === '' ? 'utf-8' : charset);
}

function percentDecoded(value: string): string | null {
  if (!/%[0-9a-f]{2}/iu.test(value)) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

function percentBytes(text: string): Buffer | null {
  if (/%(?![0-9a-f]{2})/iu.test(text)) return null;
  const bytes = text.replace(/%(..)/gu, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}

function encodedWord(value: string): string | null {
  const [, charset, kind, text = ''] = ENCODED_WORD.exec(value) ?? [];
  if (charset === undefined) return null;
  const bytes =
    kind?.toLowerCase() === 'b'
      ? Buffer.from(text, 'base64')
      : percentBytes(text.replaceAll('_', ' ').replaceAll('=', '%'));
  return bytes === null ? null : decode(bytes, charset);
}

/** Null: the charset is unknown, or the bytes are not valid in it. */
function decode(bytes: Uint8Array, charset: string): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
