/**
 * `npm run test:cluster -- [--seed n] [--schedules n] [--mode sync|replace|append] [--database atomic|replicated] [--rows n] [--verbose]
 *   [--engine 25.8] [--replicas 1|2|3]`, against a bed, where whatever runs is killed and frozen; or with `--urls http://a:8123,http://b:8123
 *   --cluster name [--user name] [--password word]` against servers that run already, where only domainsync is.
 */
import { parseArgs } from 'node:util';
import { ENGINES, type Engine } from '../bed/cache.ts';
import type { Mode } from '../kill/state.ts';
import { runCampaign } from './campaign.ts';
import type { BedReplicas, GivenReplicas } from './replicas.ts';

const MODES: readonly string[] = ['sync', 'replace', 'append'] satisfies Mode[];
const DATABASES: readonly string[] = ['atomic', 'replicated'];

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    schedules: { type: 'string', default: '20' },
    mode: { type: 'string', default: 'sync' },
    database: { type: 'string', default: 'atomic' },
    rows: { type: 'string', default: '700' },
    verbose: { type: 'boolean', default: false },
    engine: { type: 'string', default: '25.8' },
    replicas: { type: 'string', default: '2' },
    urls: { type: 'string' },
    cluster: { type: 'string' },
    user: { type: 'string', default: 'default' },
    // That of docker-compose.cluster.yml.
    password: { type: 'string', default: 'only-on-this-machine' },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const schedules = Number(values.schedules);
if (!MODES.includes(values.mode)) throw new Error(`--mode is one of ${MODES.join(', ')}`);
if (!DATABASES.includes(values.database)) throw new Error(`--database is one of ${DATABASES.join(', ')}`);
const servers = values.urls === undefined ? ofBed() : given(values.urls);
console.log(
  `${schedules} schedules from seed ${seed} on, mode ${values.mode}, database ${values.database}, ${
    'urls' in servers ? `servers ${servers.urls.join(', ')}` : `${servers.replicas} replicas of ${servers.engine}`
  }`,
);
const { figures, kinds, failures } = await runCampaign({
  seed,
  schedules,
  mode: values.mode as Mode,
  database: values.database as 'atomic' | 'replicated',
  servers,
  rows: Number(values.rows),
  told: (line) => console.log(line),
  tellsAll: values.verbose,
});
console.log(JSON.stringify({ kinds: Object.fromEntries(Object.entries(kinds).sort()), figures }, null, 2));
if (failures.length > 0) {
  console.log(`WRONG: ${failures.length} schedules of ${schedules}`);
  process.exitCode = 1;
}

function ofBed(): BedReplicas {
  const { engine, replicas } = values;
  if (!ENGINES.some((one) => one === engine)) throw new Error(`--engine is one of ${ENGINES.join(', ')}`);
  if (!['1', '2', '3'].includes(replicas)) throw new Error('--replicas is 1, 2 or 3');
  return { engine: engine as Engine, replicas: Number(replicas) };
}

function given(urls: string): GivenReplicas {
  const { cluster, user, password } = values;
  if (cluster === undefined) throw new Error('--urls needs --cluster');
  return { urls: urls.split(','), cluster, username: user, password };
}
