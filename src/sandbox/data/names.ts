/** Domain names: unique for each index, unordered. */
import { domainToASCII } from 'node:url';
import { SUFFIXES, type Suffix, WORDS } from './lists.ts';
import { hash } from './random.ts';

const SYLLABLES = [...'bdfghjklmnprstvz'].flatMap((consonant) => [...'aeio'].map((vowel) => consonant + vowel));
const PAIRS = SYLLABLES.flatMap((first) => SYLLABLES.map((second) => first + second));
const BITS = 24;
const MASK = (1 << BITS) - 1;

/** A permutation of the 24-bit numbers. Each step is reversible, so no two indexes collide. */
function permute(value: number, seed: number): number {
  let x = (value ^ hash(seed, 0)) & MASK;
  x = Math.imul(x, 0x5bd1e995) & MASK;
  x ^= x >>> 12;
  x = Math.imul(x, 0x2545f491) & MASK;
  return x ^ (x >>> 11);
}

/** A domain's public suffix: half are .com, with a long tail and some private ones. */
export function suffixOf(seed: number, index: number, stream: number): Suffix {
  return SUFFIXES[hash(seed, index, stream) % SUFFIXES.length] as Suffix;
}

/**
 * The label before the suffix. Its part before the first hyphen (after `xn--`) encodes the index, so labels are
 * unique whatever follows: 8 letters for 2^24 indexes, more letters beyond.
 */
export function labelOf(seed: number, index: number, stream: number): string {
  const x = permute(index & MASK, seed);
  let core = (PAIRS[x >>> 12] ?? '') + (PAIRS[x & 4095] ?? '');
  if (index > MASK) core += PAIRS[Math.floor(index / (MASK + 1)) % PAIRS.length] ?? '';
  const bits = hash(seed, index, stream, 1);
  if (bits % 256 === 0) return domainToASCII(`${core}ü`);
  return bits % 3 === 0 ? `${core}-${WORDS[(bits >>> 8) % WORDS.length]}` : core;
}
