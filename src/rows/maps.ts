/**
 * The rules of the map columns (docs/contract.md, "Maps"). Each takes the source's value and returns the entries in stored
 * order, or undefined if the value as a whole does not fit. Their twins on bytes are the methods of `MapRows` in
 * src/scan/assembly/rules/map-rows.ts.
 */
import { isObject, jsonText } from './json.ts';

export type TextEntries = readonly (readonly [string, string])[];
export type ListEntries = readonly (readonly [string, readonly string[]])[];

const NONE: readonly never[] = [];

/** technologies: an object of name to version, or an array of names. A repeated name counts once. */
export function toTechnologies(value: unknown): TextEntries | undefined {
  if (value === null || value === undefined) return NONE;
  if (Array.isArray(value)) return fromNames(value);
  if (!isObject(value)) return undefined;
  const entries: [string, string][] = [];
  for (const name of Object.keys(value)) {
    const version = value[name];
    if (typeof version === 'string') entries.push([name, version]);
    else if (version === null) entries.push([name, '']);
    else if (typeof version === 'number') entries.push([name, String(version)]);
    else return undefined;
  }
  return sortEntries(entries);
}

function fromNames(names: readonly unknown[]): TextEntries | undefined {
  if (!allStrings(names)) return undefined;
  return sortEntries(Array.from(new Set(names), (name): [string, string] => [name, '']));
}

/** dns_records: every object fits. Values other than strings become text. */
export function toDnsRecords(value: unknown): ListEntries | undefined {
  if (value === null || value === undefined) return NONE;
  if (!isObject(value)) return undefined;
  const entries: [string, readonly string[]][] = [];
  for (const type of Object.keys(value)) {
    const of = value[type];
    if (Array.isArray(of)) entries.push([type, recordTexts(type, of)]);
    else entries.push([type, of === null ? NONE : [recordText(type, of)]]);
  }
  return sortEntries(entries);
}

function recordTexts(type: string, values: readonly unknown[]): readonly string[] {
  return allStrings(values) ? values : values.map((value) => recordText(type, value));
}

function recordText(type: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (type === 'MX' && isObject(value)) {
    const { host, priority } = value;
    if (typeof host === 'string' && typeof priority === 'number' && Object.keys(value).length === 2) {
      return `${priority} ${host}`;
    }
  }
  return jsonText(value);
}

/** social_networks: an object of platform to links, a list or a single link. */
export function toSocialNetworks(value: unknown): ListEntries | undefined {
  if (value === null || value === undefined) return NONE;
  if (!isObject(value)) return undefined;
  const entries: [string, readonly string[]][] = [];
  for (const platform of Object.keys(value)) {
    const links = value[platform];
    if (typeof links === 'string') entries.push([platform, [links]]);
    else if (Array.isArray(links) && allStrings(links)) entries.push([platform, links]);
    else return undefined;
  }
  return sortEntries(entries);
}

function allStrings(values: readonly unknown[]): values is readonly string[] {
  for (const value of values) if (typeof value !== 'string') return false;
  return true;
}

/** Sorts entries in place by the UTF-8 bytes of their keys. Many come sorted, and most maps are small. */
export function sortEntries<T>(entries: [string, T][]): [string, T][] {
  for (let i = 1; i < entries.length; i++) {
    if (compareUtf8((entries[i - 1] as [string, T])[0], (entries[i] as [string, T])[0]) > 0) {
      return entries.sort((a, b) => compareUtf8(a[0], b[0]));
    }
  }
  return entries;
}

/** Compares well-formed strings by their UTF-8 bytes. JavaScript's `<` puts U+1F600 before U+FF00. */
export function compareUtf8(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Ranks the surrogates, which encode code points above U+FFFF, after U+E000 to U+FFFF. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
