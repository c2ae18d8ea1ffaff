/** How the schema is told to the scanner: the numbers of assembly/kinds.ts. */
import type { Column } from '../types/index.ts';

const KINDS = {
  domain: 0,
  text: 1,
  'json-text': 2,
  uint16: 3,
  float64: 4,
  bool: 5,
  datetime: 6,
  'text-map': 7,
  unparsed: 10,
} as const;
const DNS_RECORDS = 8;
const SOCIAL_NETWORKS = 9;
/** DNS records hold lists of objects of strings. */
const MAP_DEPTH = 3;

/** The rule of a column. */
export function scanKind({ kind, name }: Column): number {
  if (kind !== 'list-map') return KINDS[kind];
  return name === 'social_networks' ? SOCIAL_NETWORKS : DNS_RECORDS;
}

/** How many levels of a value's arrays and objects its rule looks into. */
export function scanDepth({ kind }: Column): number {
  return kind === 'text-map' || kind === 'list-map' ? MAP_DEPTH : 0;
}
