/** The states of a key, a subscription and a service, and what domainsync reports for each. */
import type { FaultRule } from '../../../src/sandbox/server/faults.ts';

export const KEY = 'sandbox_0123456789abcdef';
/** May download another dataset than the one asked for. */
export const POOR = 'sandbox_poor_52f1c09a77';
/** Restricted to addresses of which this is none. */
export const BLOCKED = 'sandbox_blocked_0d7e51';
const WRONG = 'sandbox_wrong_9b3e01d4c8';
export const SECRETS = [KEY, POOR, BLOCKED, WRONG];

export interface State {
  readonly what: string;
  readonly exit: number;
  readonly code: string;
  readonly says: RegExp;
  readonly hint: RegExp;
  /** Of the service section. */
  readonly service?: Readonly<Record<string, string>>;
  readonly dataset?: string;
  readonly slice?: Readonly<Record<string, string>>;
  /** Of the download route of the dataset. */
  readonly fault?: FaultRule['fault'];
  readonly env?: Readonly<Record<string, string>>;
}

export const STATES: readonly State[] = [
  {
    what: 'no key: the variable is not set',
    exit: 2,
    code: 'SOURCE_KEY_MISSING',
    says: /service\.apiKey: the environment variable ACME_KEY is not set/,
    hint: /^Set ACME_KEY in the environment/,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the language of the configuration
    service: { apiKey: '${ACME_KEY}' },
  },
  {
    what: 'no key: the variable is empty',
    exit: 2,
    code: 'SOURCE_KEY_MISSING',
    says: /service\.apiKey: must not be empty \(it is read from ACME_KEY\)/,
    hint: /^Set ACME_KEY in the environment/,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the language of the configuration
    service: { apiKey: '${ACME_KEY}' },
    env: { ACME_KEY: '' },
  },
  {
    what: 'a key that is not taken',
    exit: 3,
    code: 'SOURCE_KEY_REJECTED',
    says: /answered 401; it says "Invalid API key"/,
    hint: /wrong, rotated or revoked, or .*IP allow-list/,
    service: { apiKey: WRONG },
  },
  {
    what: 'a sign-in page',
    exit: 3,
    code: 'SOURCE_KEY_REJECTED',
    says: /answered 302, a redirect to "\/login"/,
    hint: /service\.apiKey/,
    dataset: 'websites-ranking',
    fault: { kind: 'redirect', status: 302, location: '/login?next=x' },
  },
  {
    what: 'an address that is not allowed',
    exit: 3,
    code: 'SOURCE_IP_BLOCKED',
    says: /answered 401; it says "API key not allowed from this IP"/,
    hint: /add this machine's public address/,
    service: { apiKey: BLOCKED },
  },
  {
    what: 'no access',
    exit: 4,
    code: 'SOURCE_NO_ACCESS',
    says: /answered 403/,
    hint: /renew or buy/,
    service: { apiKey: POOR },
  },
  {
    what: 'no such dataset',
    exit: 5,
    code: 'SOURCE_NOT_FOUND',
    says: /answered 404/,
    hint: /no dataset 'dsn'\. Did you mean 'dns'\? It has: .*technologies/,
    dataset: 'dsn',
  },
  {
    what: 'no such slice',
    exit: 5,
    code: 'SOURCE_NOT_FOUND',
    says: /answered 404/,
    hint: /there is nothing for dns\/tld\/nope/,
    slice: { scope: 'tld', key: 'nope' },
  },
  {
    what: 'not published yet',
    exit: 5,
    code: 'SOURCE_NOT_FOUND',
    says: /not published yet/,
    hint: /The catalog has the dataset 'rdap-whois', so its file is not published yet/,
    dataset: 'rdap-whois',
  },
  {
    what: 'a page',
    exit: 6,
    code: 'SOURCE_UNEXPECTED',
    says: /text\/html.* where a \.jsonl\.zst file was expected/,
    hint: /service\.url/,
    dataset: 'all-data',
    fault: { kind: 'html' },
  },
  {
    what: 'an error that says success',
    exit: 6,
    code: 'SOURCE_UNEXPECTED',
    says: /application\/json/,
    hint: /service\.url/,
    dataset: 'all-active',
    fault: { kind: 'json-error' },
  },
  {
    what: 'a file without a name',
    exit: 6,
    code: 'SOURCE_UNEXPECTED',
    says: /without a Content-Disposition header/,
    hint: /service\.url/,
    dataset: 'domain-investor',
    fault: { kind: 'disposition', value: null },
  },
  {
    what: 'another name',
    exit: 2,
    code: 'SOURCE_NAME_MISMATCH',
    says: /offers the file "acme zone 2026-01-01\.jsonl\.zst"/,
    hint: /fileName: "acme zone <date>\.jsonl\.zst"$/,
    dataset: 'named',
  },
  {
    what: 'a failing service',
    exit: 6,
    code: 'SOURCE_UNAVAILABLE',
    says: /answered 503/,
    hint: /try later/,
    dataset: 'technologies',
    fault: { kind: 'status', status: 503 },
  },
  {
    what: 'a service that is not there',
    exit: 6,
    code: 'SOURCE_UNAVAILABLE',
    says: /ECONNREFUSED/,
    hint: /Nothing takes connections there/,
    service: { url: 'http://127.0.0.1:1' },
  },
  {
    what: 'a host that is not there',
    exit: 6,
    code: 'SOURCE_UNAVAILABLE',
    says: /ENOTFOUND|EAI_AGAIN/,
    hint: /No host of that name|Names cannot be resolved/,
    service: { url: 'https://no-such-host.invalid' },
  },
  {
    what: 'an answer that breaks off',
    exit: 6,
    code: 'SOURCE_UNAVAILABLE',
    says: /no answer from/,
    hint: /try later/,
    dataset: 'dropped',
    fault: { kind: 'drop' },
  },
];
