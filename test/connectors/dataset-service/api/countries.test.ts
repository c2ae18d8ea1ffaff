/** Countries in paths: a service may know them in lower case, in upper case or in both. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatasetService, type DatasetService } from '../../../../connectors/dataset-service/index.ts';
import type { CountryCase } from '../../../../src/sandbox/server/store.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/service.ts';
import { sourceKey, type Target } from '../../../../src/types/index.ts';
import { configOf } from '../../../config/tools.ts';
import { collect } from '../../../support/download/zst.ts';
import { NEVER } from '../service.ts';

let data = '';
let sandbox: Sandbox;
let service: DatasetService;

beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'domainsync-countries-'));
});
afterEach(async () => {
  await service.close();
  await sandbox.close();
  await rm(data, { recursive: true });
});

async function open(countries: CountryCase): Promise<void> {
  sandbox = await startSandbox({ rows: 300, countries });
  service = createDatasetService({
    url: sandbox.url,
    apiKey: sandbox.key,
    dataDir: data,
    keep: 1,
    userAgent: 'domainsync/test',
    log: pino({ level: 'silent' }),
  });
}

/** The target of a pipeline with this key. */
function country(key: string): Target {
  const pipeline = `dataset: technologies, slice: { scope: country, key: ${key} }, to: { clickhouse: { table: t } }`;
  const [parsed] = configOf(`pipelines: { p: { ${pipeline} } }`).pipelines;
  if (parsed === undefined) throw new Error('no pipeline');
  return parsed.target;
}

/** What was asked for, and how it was answered. */
const asked = (): string[] => sandbox.log.map(({ path, status }) => `${path.split('/').slice(4).join('/')} ${status}`);

test.each<[CountryCase, string, string[]]>([
  ['lower', 'us', ['country/us 206']],
  ['lower', 'US', ['country/US 404', 'country/us 206']],
  ['upper', 'US', ['country/US 206']],
  ['upper', 'us', ['country/us 404', 'country/US 206']],
  ['any', 'US', ['country/US 206']],
  ['any', 'us', ['country/us 206']],
  ['upper', 'Us', ['country/us 404', 'country/US 206']],
])('where countries are known in %s case, %s is found', async (countries, key, requests) => {
  await open(countries);
  const target = country(key);
  const file = await service.newest(target, NEVER);
  expect(asked()).toEqual(requests);
  expect(sourceKey(target)).toBe('technologies/country/us');
  const spooled = await service.open(target, file, NEVER);
  expect((await collect(spooled.read(NEVER))).length).toBe(file.size);
  await spooled.complete;
  await spooled.close();
  // What the service knew is asked for first from then on, for the other countries too.
  await service.newest(country(key === 'us' ? 'de' : 'DE'), NEVER);
  expect(
    asked()
      .slice(requests.length)
      .filter((request) => request.endsWith(' 404')),
  ).toEqual([]);
});

test('pipelines that write one country in two ways share its download', async () => {
  await open('upper');
  const [lower, upper] = [country('us'), country('US')];
  const file = await service.newest(lower, NEVER);
  expect(await service.newest(upper, NEVER)).toEqual(file);
  const spooled = await Promise.all([lower, upper].map((target) => service.open(target, file, NEVER)));
  for (const one of spooled) {
    await collect(one.read(NEVER));
    await one.complete;
    await one.close();
  }
  const downloads = sandbox.log.filter(({ range }) => range === null);
  expect(downloads.map(({ path }) => path)).toEqual(['/api/download/technologies/country/US']);
  expect((await readdir(data)).sort()).toEqual([file.name, `${file.name}.json`]);
});

test('a country that is not known in either case, and what else fails, is said as it is', async () => {
  await open('upper');
  await expect(service.newest(country('zz'), NEVER)).rejects.toMatchObject({
    code: 'SOURCE_NOT_FOUND',
    message: expect.stringMatching(/country\/zz answered 404.*; .*country\/ZZ answered 404/u),
  });
  sandbox.misbehave({ fault: { kind: 'status', status: 403 } });
  await expect(service.newest(country('us'), NEVER)).rejects.toMatchObject({ code: 'SOURCE_NO_ACCESS' });
  expect(asked()).toEqual(['country/zz 404', 'country/ZZ 404', 'country/us 403']);
});

test.each<CountryCase>(['lower', 'upper'])('the sample of a country, known in %s case', async (countries) => {
  await open(countries);
  for (const key of countries === 'upper' ? ['us', 'US'] : ['US', 'us']) {
    const body = await service.api.sample({ dataset: 'technologies', slice: { scope: 'country', key } }, NEVER);
    expect(JSON.parse(body.toString())).toMatchObject({ dataset: 'technologies' });
  }
  expect(sandbox.log.filter(({ status }) => status === 404)).toHaveLength(1);
});

test('other keys are asked for in one case only', async () => {
  await open('any');
  const target = (scope: 'tld' | 'technology'): Target => ({ dataset: 'technologies', slice: { scope, key: 'NONE' } });
  for (const scope of ['tld', 'technology'] as const) {
    await expect(service.newest(target(scope), NEVER)).rejects.toMatchObject({ code: 'SOURCE_NOT_FOUND' });
  }
  expect(asked()).toEqual(['tld/NONE 404', 'technology/none 404']);
});
