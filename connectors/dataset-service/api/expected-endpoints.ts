/** What domainsync relies on of the service's contract (service-spec 4, 5, 7, 8). */

export interface ReliedParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  /** Values that domainsync sends. */
  readonly values?: readonly string[];
  /** Largest number that domainsync sends. */
  readonly maximum?: number;
}

export interface ReliedEndpoint {
  /** With `{...}` where a value stands. */
  readonly path: string;
  /** How domainsync authenticates: `none`, so that it works without a key. */
  readonly auth: 'none' | 'bearer' | 'any';
  readonly parameters: readonly ReliedParameter[];
  /** Successes that domainsync relies on. */
  readonly succeeds: readonly string[];
  /** Failures that have a meaning of their own. */
  readonly fails: readonly string[];
}

const SCOPES: readonly string[] = ['tld', 'tld_suffix', 'country', 'technology'];
const SCOPE: ReliedParameter = { name: 'scope', in: 'path', values: SCOPES };
const DATASET: ReliedParameter = { name: 'dataset', in: 'query' };
const DOWNLOAD_FAILS = ['401', '403', '404', '416', '429'];

function endpoint(
  path: string,
  auth: ReliedEndpoint['auth'],
  parameters: readonly ReliedParameter[],
  fails: readonly string[],
  succeeds: readonly string[] = ['200'],
): ReliedEndpoint {
  return { path, auth, parameters, succeeds, fails };
}

export const RELIED: readonly ReliedEndpoint[] = [
  endpoint('/api/v1/datasets', 'none', [], ['429']),
  endpoint('/api/v1/preview', 'bearer', [DATASET], ['401', '404', '429']),
  endpoint('/api/v1/sample/{scope}/{key}', 'bearer', [SCOPE, DATASET], ['401', '404', '429']),
  endpoint('/api/v1/me', 'bearer', [], ['401', '429']),
  endpoint('/api/v1/me/orders', 'bearer', [], ['401', '429']),
  endpoint('/api/v1/me/downloads', 'bearer', [{ name: 'limit', in: 'query', maximum: 500 }], ['401', '429']),
  endpoint('/api/download/{slug}', 'bearer', [], DOWNLOAD_FAILS, ['200', '206']),
  endpoint('/api/download/{slug}/{scope}/{key}', 'bearer', [SCOPE], DOWNLOAD_FAILS, ['200', '206']),
  endpoint('/api/v1/openapi.json', 'any', [], []),
];
