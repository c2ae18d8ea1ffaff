import { expect, test } from 'vitest';
import { downloadPath } from '../../../../connectors/dataset-service/api/paths.ts';
import type { Target } from '../../../../src/types/index.ts';

const DNS: Target = { dataset: 'dns' };

const slice = (dataset: string, scope: 'tld' | 'tld_suffix' | 'country' | 'technology', key: string): Target => ({
  dataset,
  slice: { scope, key },
});

test('paths name dataset, scope and key, encoded', () => {
  expect(downloadPath(DNS)).toBe('/api/download/dns');
  expect(downloadPath(slice('dns', 'tld', 'de'))).toBe('/api/download/dns/tld/de');
  expect(downloadPath(slice('technologies', 'technology', 'C#/Net'))).toBe(
    '/api/download/technologies/technology/c%23%2Fnet',
  );
});
