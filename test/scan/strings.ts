/** Strings into a row writer, which takes bytes. */
import type { Bytes, RowWriter } from '../../src/types.ts';

/** What must not stand in a JSON string as it is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters meant
const NOT_PLAIN = /["\\\u0000-\u001f]/;

/** An unpaired surrogate becomes U+FFFD. */
function bytesOf(text: string): Bytes {
  const utf8 = Buffer.from(text);
  // Other bytes stand behind it: they must not count.
  const buffer = Buffer.from(new ArrayBuffer(utf8.length + 3)).fill('x');
  utf8.copy(buffer);
  return { buffer, view: new DataView(buffer.buffer), length: buffer.length };
}

type WriteBytes = (from: Bytes, start: number, end: number, plain: boolean) => void;

function give(text: string, write: WriteBytes): void {
  const bytes = bytesOf(text);
  write(bytes, 0, bytes.length - 3, !NOT_PLAIN.test(text));
}

export function writeText(writer: RowWriter, text: string): void {
  give(text, writer.textBytes.bind(writer));
}

export function writeTextMap(writer: RowWriter, entries: readonly (readonly [string, string])[]): void {
  writer.mapBegin(entries.length);
  for (const [key, value] of entries) {
    give(key, writer.mapKey.bind(writer));
    give(value, writer.mapText.bind(writer));
  }
  writer.mapEnd();
}

export function writeListMap(writer: RowWriter, entries: readonly (readonly [string, readonly string[]])[]): void {
  writer.mapBegin(entries.length);
  for (const [key, values] of entries) {
    give(key, writer.mapKey.bind(writer));
    writer.mapList(values.length);
    for (const value of values) give(value, writer.mapText.bind(writer));
  }
  writer.mapEnd();
}
