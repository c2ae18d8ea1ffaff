/** A column of a block as it is written: see native.ts. */
import { Growing } from '../../../../src/scan/assembly/bytes/bytes';
import { DICTIONARY_BYTES, Dictionary } from './dictionary';

/** How many entries a map column has so far, and how many values its lists. */
@final
@unmanaged
class Counts {
  entries: u64;
  listed: u64;
  private keptEntries: u64;
  private keptListed: u64;

  keep(): void {
    this.keptEntries = this.entries;
    this.keptListed = this.listed;
  }

  drop(): void {
    this.entries = this.keptEntries;
    this.listed = this.keptListed;
  }

  clear(): void {
    this.entries = 0;
    this.listed = 0;
    this.keep();
  }
}

const PART_BYTES: usize = offsetof<Growing>();
const DICTIONARY_PLACE: usize = 4 * PART_BYTES + offsetof<Counts>();
const COLUMN_BYTES: usize = DICTIONARY_PLACE + DICTIONARY_BYTES;

/**
 * The values of one column; a part that its kind does not have stays empty. The host knows the order of the parts. They lie one
 * behind the other, and so do the columns: no address has to be looked up for a value.
 */
@final
@unmanaged
export class Column {
  /** Memory for so many. */
  static room(columns: i32): usize {
    return heap.alloc(COLUMN_BYTES * <usize>columns);
  }

  /** Begins the one that is to lie at `place`. */
  static at(place: usize): Column {
    for (let part: usize = 0; part < 4; part++) Growing.at(place + part * PART_BYTES);
    const column = changetype<Column>(place);
    column.counts.clear();
    Dictionary.at(place + DICTIONARY_PLACE);
    return column;
  }

  @inline
  get values(): Growing {
    return changetype<Growing>(this);
  }

  /** Of Nullable: a byte for each row. Of maps: where each row's entries end. */
  @inline
  get head(): Growing {
    return changetype<Growing>(changetype<usize>(this) + PART_BYTES);
  }

  /** Of maps: the keys, as numbers of the dictionary. */
  @inline
  get keys(): Growing {
    return changetype<Growing>(changetype<usize>(this) + 2 * PART_BYTES);
  }

  /** Of list-maps: where each entry's values end. */
  @inline
  get ends(): Growing {
    return changetype<Growing>(changetype<usize>(this) + 3 * PART_BYTES);
  }

  @inline
  get counts(): Counts {
    return changetype<Counts>(changetype<usize>(this) + 4 * PART_BYTES);
  }

  /** Of maps, of their keys; of others, where it was begun, the values are numbers of its texts. */
  @inline
  get dictionary(): Dictionary {
    return changetype<Dictionary>(changetype<usize>(this) + DICTIONARY_PLACE);
  }

  /** The one so many behind it. */
  @inline
  behind(columns: i32): Column {
    return changetype<Column>(changetype<usize>(this) + COLUMN_BYTES * <usize>columns);
  }

  @inline
  get next(): Column {
    return this.behind(1);
  }

  keep(): void {
    this.values.keep();
    this.head.keep();
    this.keys.keep();
    this.ends.keep();
    this.counts.keep();
  }

  drop(): void {
    this.values.drop();
    this.head.drop();
    this.keys.drop();
    this.ends.drop();
    this.counts.drop();
    this.dictionary.drop();
  }

  clear(): void {
    this.values.clear();
    this.head.clear();
    this.keys.clear();
    this.ends.clear();
    this.counts.clear();
    this.dictionary.clear();
  }
}
