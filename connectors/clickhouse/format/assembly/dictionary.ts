/**
 * Texts of which few differ: each is kept once, and gets a number, in the order in which they come. A table of slots finds them
 * again, at the first free slot behind the one that their hash says. Where very many differ, only the first ones are found again:
 * the others are kept as often as they come, which the format permits, and take no more than they do in the lines.
 */
import { Growing, sameBytes } from '../../../../src/scan/assembly/bytes/bytes';
import { addText } from './text';

/** Bytes of a text that its slot holds, zeros behind a shorter one. */
const HEAD: usize = 16;
const FIRST_SLOTS: u32 = 256;
/** 2 MiB of them. Without a bound, the names of a block of 24 MiB could take 256. */
const MOST_SLOTS: u32 = 64 * 1024;
/** Half of the slots stay free, so that what is looked for is found within few steps. */
const MOST_FOUND: u32 = MOST_SLOTS >> 1;
/** Odd, its bits in no order: 2^64 divided by the golden ratio. */
const MIX: u64 = 0x9e3779b97f4a7c15;

/** Bytes that are to stay, and bytes that are not: from `HEAD - n` on, a mask of n bytes. */
const masks = heap.alloc(2 * HEAD);
memory.fill(masks, 0xff, HEAD);
memory.fill(masks + HEAD, 0, HEAD);

/** In a table; all zeros while it is free. */
@final
@unmanaged
class Slot {
  first: u64;
  second: u64;
  length: u32;
  /** From 1. */
  number: u32;
  hash: u32;
  /** Where the text lies among the texts. */
  offset: u32;
}
const SLOT_BYTES: usize = offsetof<Slot>();

/** The row that is being written, counted over all rows that were begun. */
let row: u64 = 0;

/** Begins a row: texts that are new in it are given up with it. */
export function beginRow(): void {
  row += 1;
}

@final
@unmanaged
export class Dictionary {
  /** How many texts there are. */
  count: u32;
  /** How many there were before the row that brought the newest. */
  private kept: u32;
  private newest: u64;
  private slots: usize;
  private slotCount: u32;

  /** Whether it was begun: a column without is not of low cardinality. */
  @inline
  get begun(): bool {
    return this.slots != 0;
  }

  /** The texts, as strings of the Native format, one behind the other. */
  @inline
  get texts(): Growing {
    return changetype<Growing>(changetype<usize>(this) + offsetof<Dictionary>());
  }

  /** The one at `place`, which is not begun. */
  static at(place: usize): Dictionary {
    Growing.at(place + offsetof<Dictionary>());
    const made = changetype<Dictionary>(place);
    made.slots = 0;
    made.count = 0;
    made.newest = 0;
    return made;
  }

  begin(): void {
    this.slotCount = FIRST_SLOTS;
    this.slots = heap.alloc(SLOT_BYTES * FIRST_SLOTS);
    this.clear();
  }

  clear(): void {
    if (!this.begun) return;
    memory.fill(this.slots, 0, SLOT_BYTES * this.slotCount);
    this.texts.clear();
    this.count = 0;
  }

  /** The number of a text, from 0; a new one for a new text. */
  numberOf(start: usize, length: usize): u32 {
    const head = v128.and(v128.load(start), v128.load(masks + HEAD - min(length, HEAD)));
    const first = i64x2.extract_lane(head, 0);
    const second = i64x2.extract_lane(head, 1);
    let mixed = mix(mix(<u64>length, first), second);
    for (let at = HEAD; at < length; at += 8) mixed = mix(mixed, load<u64>(start + min(at, length - 8)));
    const hash = <u32>(mixed >> 32);
    const last = this.slotCount - 1;
    let place = hash & last;
    while (true) {
      const slot = this.slot(place);
      if (slot.number == 0) return this.add(slot, hash, first, second, start, length);
      const alike = slot.first == first && slot.second == second && slot.length == <u32>length;
      if (alike && (length <= HEAD || sameBytes(this.texts.start + slot.offset, start, length))) return slot.number - 1;
      place = (place + 1) & last;
    }
  }

  @inline
  private slot(place: u32): Slot {
    return changetype<Slot>(this.slots + SLOT_BYTES * place);
  }

  private add(slot: Slot, hash: u32, first: u64, second: u64, start: usize, length: usize): u32 {
    const texts = this.texts;
    if (this.newest != row) {
      this.newest = row;
      this.kept = this.count;
      texts.keep();
    }
    addText(texts, start, start + length);
    const number = this.count;
    this.count += 1;
    if (number >= MOST_FOUND) return number;
    slot.first = first;
    slot.second = second;
    slot.length = <u32>length;
    slot.number = this.count;
    slot.hash = hash;
    slot.offset = <u32>(texts.length - length);
    if (this.count > this.slotCount >> 1) this.fill(2 * this.slotCount);
    return number;
  }

  /** Gives up the texts that are new in the row. */
  drop(): void {
    if (!this.begun || this.newest != row) return;
    this.newest = 0;
    this.count = this.kept;
    this.texts.drop();
    this.fill(this.slotCount);
  }

  /** Makes the table anew, with as many slots, for the texts that there are. */
  private fill(slotCount: u32): void {
    const before = this.slots;
    const end = before + SLOT_BYTES * this.slotCount;
    this.slotCount = slotCount;
    this.slots = heap.alloc(SLOT_BYTES * slotCount);
    memory.fill(this.slots, 0, SLOT_BYTES * slotCount);
    const last = slotCount - 1;
    for (let from = before; from < end; from += SLOT_BYTES) {
      const old = changetype<Slot>(from);
      if (old.number == 0 || old.number > this.count) continue;
      let place = old.hash & last;
      while (this.slot(place).number != 0) place = (place + 1) & last;
      memory.copy(changetype<usize>(this.slot(place)), from, SLOT_BYTES);
    }
    heap.free(before);
  }
}

/** Bytes of one, with its texts. */
export const DICTIONARY_BYTES: usize = offsetof<Dictionary>() + offsetof<Growing>();

// @ts-ignore: decorator
@inline
function mix(mixed: u64, word: u64): u64 {
  const product = (mixed ^ word) * MIX;
  return product ^ (product >> 29);
}
