/** The seven datasets and their columns (docs/service.md, "Datasets" and "Domain row"). */

export const DATASET_SLUGS = [
  'all-active',
  'websites-ranking',
  'technologies',
  'dns',
  'rdap-whois',
  'all-data',
  'domain-investor',
] as const;

export type DatasetSlug = (typeof DATASET_SLUGS)[number];

export function isDatasetSlug(text: string): text is DatasetSlug {
  return (DATASET_SLUGS as readonly string[]).includes(text);
}

/** For each column, the labels d1 to d7 of docs/service.md, "Domain row"; `*` marks the conditional ones of d6. */
const PRESENT: readonly (readonly [string, string])[] = [
  ['Domain', '1234567'],
  ['TLD suffix', '1234567'],
  ['TLD', '1234567'],
  ['Domain type', '123467'],
  ['HTTP status', '367'],
  ['IP address', '367'],
  ['Country by IP', '2367'],
  ['Social networks', '367'],
  ['Technologies last data checked', '367'],
  ['Technologies', '367'],
  ['DNS last data checked', '467'],
  ['DNS Status', '467'],
  ['DNS records', '467'],
  ['PR value', '2367'],
  ['Harmonic value', '2367'],
  ['RDAP/WHOIS last date checked', '57*'],
  ['RDAP/WHOIS method', '57*'],
  ['Domain creation date', '23567'],
  ['Domain expiration date', '23567'],
  ['Domain last changed', '57*'],
  ['Registrar', '567'],
  ['RDAP/WHOIS Record', '5*'],
  ['Response Status RDAP/WHOIS', '5*'],
];

export interface Dataset {
  readonly slug: DatasetSlug;
  readonly name: string;
  /** US dollars. Invented, since the specification shows no prices. */
  readonly price: number;
  /** Every column that a row can have, in the order of the specification. */
  readonly columns: readonly string[];
  /** Columns that only rows with a registration record have. */
  readonly conditional: readonly string[];
  /** Share of the domains that the dataset holds, unless an option says otherwise. */
  readonly share: number;
  /** Holds only domains with a registration record. */
  readonly registeredOnly: boolean;
}

function dataset(slug: DatasetSlug, name: string, price: number, share: number, registeredOnly = false): Dataset {
  const label = String(DATASET_SLUGS.indexOf(slug) + 1);
  const holds = (marks: string): boolean => marks.includes(label) || (label === '6' && marks.includes('*'));
  return {
    slug,
    name,
    price,
    columns: PRESENT.filter(([, marks]) => holds(marks)).map(([column]) => column),
    conditional: label === '6' ? PRESENT.filter(([, marks]) => marks.includes('*')).map(([column]) => column) : [],
    share,
    registeredOnly,
  };
}

export const DATASETS: Readonly<Record<DatasetSlug, Dataset>> = {
  'all-active': dataset('all-active', 'All active domains', 49, 1),
  'websites-ranking': dataset('websites-ranking', 'Websites + Ranking', 99, 0.8),
  technologies: dataset('technologies', 'Technologies', 199, 0.6),
  dns: dataset('dns', 'DNS', 149, 1),
  'rdap-whois': dataset('rdap-whois', 'RDAP & WHOIS', 199, 1, true),
  'all-data': dataset('all-data', 'All data', 499, 1),
  'domain-investor': dataset('domain-investor', 'Domain Investor', 299, 1, true),
};
