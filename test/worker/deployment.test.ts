/** What comes with the worker for those who run it: alerts, and the files for Docker. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../config/load.ts';
import { createMetrics } from '../../src/worker/metrics/metrics.ts';

test('the alert rules pass promtool, and ask only for metrics that there are', async () => {
  const path = 'config/domainsync-alerts.yml';
  const { stdout } = await promisify(execFile)('promtool', ['check', 'rules', path]);
  expect(stdout).toMatch(/SUCCESS: 9 rules found/);
  const { text } = await createMetrics().expose({
    version: '',
    now: '',
    worker: '',
    workers: [],
    redis: { ready: true, fault: null },
    queues: [],
    pipelines: [],
  });
  const asked = new Set(readFileSync(path, 'utf8').match(/domainsync_[a-z_]+/g));
  const served = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
  expect([...asked].filter((name) => !served.has(name))).toEqual([]);
});

interface Compose {
  readonly services: Readonly<Record<string, { readonly environment: Readonly<Record<string, string>> }>>;
}

test('the configuration of docker-compose.yml is right with the environment that it gives', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8')) as Compose;
  const given = Object.entries(services['worker']?.environment ?? {}).map(([name, value]) => [
    name,
    value.replace(/\$\{\w+:-(.*)\}/, '$1'),
  ]);
  const env = { ...Object.fromEntries(given), DOMAINSYNC_URL: 'https://service.example', DOMAINSYNC_API_KEY: 'key' };
  expect(env['DOMAINSYNC_CONFIG']).toBe('/app/config/domainsync.compose.yaml');
  const config = loadConfig({ path: 'config/domainsync.compose.yaml', env, needs: { service: true } });
  expect(config).toMatchObject({
    clickhouse: { kind: 'server', urls: ['http://clickhouse:8123'], password: 'only-on-this-machine' },
    kafka: { brokers: ['kafka:29092'] },
    redis: { url: 'redis://:@redis:6379' },
    worker: { host: '0.0.0.0', port: 8080, token: 'only-on-this-machine' },
  });
  const kafka = services['kafka']?.environment ?? {};
  const listeners = kafka['KAFKA_LISTENERS']?.split(',').map((listener) => listener.split(':')[0]);
  expect(kafka['KAFKA_ADVERTISED_LISTENERS']).toContain('INSIDE://kafka:29092');
  expect(listeners).toEqual(
    kafka['KAFKA_LISTENER_SECURITY_PROTOCOL_MAP']?.split(',').map((pair) => pair.split(':')[0]),
  );
});

test('the image is of the Node that domainsync needs, and starts what the package starts', () => {
  const { engines, bin } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    engines: { node: string };
    bin: { domainsync: string };
  };
  const file = readFileSync('Dockerfile', 'utf8');
  const [, minor] = /FROM node:24\.(\d+)-/.exec(file) ?? [];
  expect(Number(minor)).toBeGreaterThanOrEqual(Number(/>=24\.(\d+)\./.exec(engines.node)?.[1]));
  expect(file).toContain(`ENTRYPOINT ["node", "/app/${bin.domainsync}"]`);
});
