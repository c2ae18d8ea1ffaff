/** Describes the schema to a module by the module's own numbers of column kinds. */
import type { Column, ColumnKind } from '../types/index.ts';

/** DNS records hold lists of objects of strings. */
const MAP_DEPTH = 3;

/** A kind as assembly/rules/kinds.ts names it: `JSON_TEXT` for json-text. */
type KindName =
  | 'DOMAIN'
  | 'TEXT'
  | 'JSON_TEXT'
  | 'UINT16'
  | 'FLOAT64'
  | 'BOOL'
  | 'DATETIME'
  | 'TECHNOLOGIES'
  | 'DNS_RECORDS'
  | 'SOCIAL_NETWORKS'
  | 'UNPARSED';

/** A module's exported kinds. */
export type KindExports = { readonly [Name in KindName]: { readonly value: number } };

const NAMES: { readonly [Kind in ColumnKind]: KindName } = {
  domain: 'DOMAIN',
  text: 'TEXT',
  'json-text': 'JSON_TEXT',
  uint16: 'UINT16',
  float64: 'FLOAT64',
  bool: 'BOOL',
  datetime: 'DATETIME',
  technologies: 'TECHNOLOGIES',
  'dns-records': 'DNS_RECORDS',
  'social-networks': 'SOCIAL_NETWORKS',
  unparsed: 'UNPARSED',
};

/** The number of a column's rule in a module. */
export function scanKind(exports: KindExports, { kind }: Column): number {
  return exports[NAMES[kind]].value;
}

/** Number of levels of arrays and objects that a column's rule examines. */
export function scanDepth({ kind }: Column): number {
  return kind === 'technologies' || kind === 'dns-records' || kind === 'social-networks' ? MAP_DEPTH : 0;
}
