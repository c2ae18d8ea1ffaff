/** UTF-8 (RFC 3629, section 4). */

/** Whether bytes are valid UTF-8: no overlong encoding, no surrogate, no character beyond U+10FFFF, none cut off. */
export function isUtf8(start: usize, end: usize): bool {
  let at = start;
  while (at < end) {
    const byte = load<u8>(at);
    if (byte < 0x80) {
      at += 1;
      continue;
    }
    let length: usize = 2;
    let least: u8 = 0x80;
    let most: u8 = 0xbf;
    if (byte < 0xc2 || byte > 0xf4) return false;
    if (byte >= 0xf0) {
      length = 4;
      if (byte == 0xf0) least = 0x90;
      if (byte == 0xf4) most = 0x8f;
    } else if (byte >= 0xe0) {
      length = 3;
      if (byte == 0xe0) least = 0xa0;
      if (byte == 0xed) most = 0x9f;
    }
    if (at + length > end) return false;
    const second = load<u8>(at + 1);
    if (second < least || second > most) return false;
    for (let i: usize = 2; i < length; i++) if ((load<u8>(at + i) & 0xc0) != 0x80) return false;
    at += length;
  }
  return true;
}
