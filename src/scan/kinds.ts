/** Describes the schema to a module by the module's own numbers of column kinds. */
import type { Column, ColumnKind } from '../types/index.ts';

/** DNS records hold lists of objects of strings. */
const MAP_DEPTH = 3;

/** A kind as assembly/rules/kinds.ts names it: `JSON_TEXT` for json-text. */
type NameOf<Kind extends string> = Kind extends `${infer First}-${infer Second}`
  ? `${Uppercase<First>}_${Uppercase<Second>}`
  : Uppercase<Kind>;

/** A module's exported kinds. */
export type KindExports = { readonly [Name in NameOf<ColumnKind>]: { readonly value: number } };

/** The number of a column's rule in a module. */
export function scanKind(exports: KindExports, { kind }: Column): number {
  return exports[kind.toUpperCase().replace('-', '_') as NameOf<ColumnKind>].value;
}

/** Number of levels of arrays and objects that a column's rule examines. */
export function scanDepth({ kind }: Column): number {
  return kind === 'technologies' || kind === 'dns-records' || kind === 'social-networks' ? MAP_DEPTH : 0;
}
