/** Escapes in JSON strings (RFC 8259, section 7). */

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

export const ESCAPE_LENGTH = '\\ud800'.length;

/** What a byte behind a backslash stands for; 0 for `u`, and for all that may not stand there. */
export const SIMPLE_ESCAPES = new Uint8Array(256);
const MEANINGS: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
for (const [character, meaning] of Object.entries(MEANINGS))
  SIMPLE_ESCAPES[character.charCodeAt(0)] = meaning.charCodeAt(0);

/** The UTF-16 unit of four hexadecimal digits; negative when they are none. */
export function hexUnit(bytes: Buffer<ArrayBuffer>, at: number): number {
  return (
    ((HEX[bytes[at] as number] as number) << 12) |
    ((HEX[bytes[at + 1] as number] as number) << 8) |
    ((HEX[bytes[at + 2] as number] as number) << 4) |
    (HEX[bytes[at + 3] as number] as number)
  );
}

/** The value of a hexadecimal digit; -1 of every other byte, and -1 shifted is negative still. */
const HEX = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toUpperCase().charCodeAt(0)] = value;
}

/** How many `\uXXXX` from `at` on are one character; 0 for an unpaired surrogate. */
export function unitsAt(bytes: Buffer<ArrayBuffer>, at: number): 0 | 1 | 2 {
  const unit = hexUnit(bytes, at + 2);
  if (unit < 0xd800 || unit > 0xdfff) return 1;
  const paired = unit < 0xdc00 && bytes[at + ESCAPE_LENGTH] === BACKSLASH && bytes[at + ESCAPE_LENGTH + 1] === LOWER_U;
  if (!paired) return 0;
  const low = hexUnit(bytes, at + ESCAPE_LENGTH + 2);
  return low >= 0xdc00 && low <= 0xdfff ? 2 : 0;
}
