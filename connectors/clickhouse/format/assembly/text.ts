/** Strings of the Native format: the length in bytes (LEB128), then the bytes. */
import { Growing, copyText } from '../../../../src/scan/assembly/bytes/bytes';

const MAX_LENGTH_BYTES: usize = 5;

// @ts-ignore: decorator
@inline
export function addText(to: Growing, start: usize, end: usize): void {
  const length = end - start;
  const at = to.reserve(length + MAX_LENGTH_BYTES);
  if (length <= 0x7f) {
    store<u8>(at, <u8>length);
    copyText(at + 1, start, length);
    to.end = at + 1 + length;
  } else addLongText(to, at, start, length);
}

/** The same for one whose length takes more than a byte. There is room for it at `to`'s end. */
function addLongText(to: Growing, end: usize, start: usize, length: usize): void {
  let at = end;
  let rest = length;
  for (; rest > 0x7f; rest >>= 7) {
    store<u8>(at, <u8>(rest | 0x80));
    at += 1;
  }
  store<u8>(at, <u8>rest);
  copyText(at + 1, start, length);
  to.end = at + 1 + length;
}
