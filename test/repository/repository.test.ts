/** The repository as others get it: what it names, what the package holds, and how its command starts. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { build } from '../../tools/build.ts';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const NOT_COMMITTED = new Set(['.git', 'node_modules', 'dist', 'data', 'coverage', '.cache']);

const packageJson = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly type: string;
  readonly engines: { readonly node: string };
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
};

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-repository-'));
  folders.push(folder);
  return folder;
}

function committedFiles(folder = ROOT): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (NOT_COMMITTED.has(entry.name) || /\.(tgz|log)$/.test(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return committedFiles(path);
    return entry.isFile() ? [path] : [];
  });
}

test('no file names a package registry, its credentials, or where a package was fetched from', () => {
  // Put together here, so that this file does not name what it looks for.
  const names = ['npmjs', 'yarnpkg'].map((name) => `registry.${name}`);
  const forbidden = [...names, `"${'resolved'}":`, `_auth${'Token'}`];
  const setting = /^\s*(@[\w-]+:)?registry\s*=/m;
  const found = committedFiles().filter((path) => {
    const text = readFileSync(path, 'latin1');
    return setting.test(text) || forbidden.some((word) => text.includes(word));
  });
  expect(found).toEqual([]);
});

test('the package says what it needs and holds what it runs', () => {
  expect(packageJson.type).toBe('module');
  expect(packageJson.engines.node).toBe('>=24.20.0');
  expect(packageJson.bin).toEqual({ domainsync: 'src/bin.js' });
  expect(packageJson.files).toEqual([
    'dist',
    'src/bin.js',
    'config/domainsync.yaml',
    'config/domainsync-alerts.yml',
    'docker-compose.yml',
  ]);
  for (const file of packageJson.files.filter((name) => name !== 'dist')) {
    expect(existsSync(join(ROOT, file)), file).toBe(true);
  }
  for (const file of Object.values(packageJson.bin)) {
    expect(statSync(join(ROOT, file)).mode & 0o111, `${file} must be executable`).toBe(0o111);
    expect(readFileSync(join(ROOT, file), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  }
  const needed = /NEEDED = \[(\d+), (\d+), (\d+)\]/.exec(readFileSync(join(ROOT, 'src/bin.js'), 'utf8'));
  expect(`>=${needed?.slice(1).join('.')}`).toBe(packageJson.engines.node);
});

test('the servers of docker-compose.yml are for this machine only, and where the configuration looks for them', () => {
  const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')) as {
    readonly services: Readonly<Record<string, { readonly ports: readonly string[]; readonly healthcheck?: unknown }>>;
  };
  const ports = Object.entries(compose.services).map(([name, service]) => [name, service.ports]);
  expect(ports).toEqual([
    ['worker', ['127.0.0.1:8080:8080']],
    ['clickhouse', ['127.0.0.1:8123:8123']],
    ['redis', ['127.0.0.1:6379:6379']],
    ['kafka', ['127.0.0.1:9092:9092']],
  ]);
  expect(Object.values(compose.services).filter((service) => service.healthcheck === undefined)).toEqual([]);
});

test('the servers of docker-compose.cluster.yml are for this machine only, and one cluster', () => {
  const compose = parse(readFileSync(join(ROOT, 'docker-compose.cluster.yml'), 'utf8'), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly ports?: readonly string[]; readonly healthcheck?: unknown }>>;
    readonly configs: Readonly<Record<string, { readonly content: string }>>;
  };
  const servers = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined);
  expect(servers.map(([name, { ports }]) => [name, ports])).toEqual([
    ['clickhouse-1', ['127.0.0.1:8123:8123']],
    ['clickhouse-2', ['127.0.0.1:8124:8123']],
  ]);
  expect(Object.values(compose.services).filter((service) => service.healthcheck === undefined)).toEqual([]);
  const hosts = [...(compose.configs['replica']?.content ?? '').matchAll(/<replica><host>([^<]+)<\/host>/g)];
  expect(hosts.map(([, host]) => host)).toEqual(servers.map(([name]) => name));
});

/** A copy of the command with a stand-in for everything behind it; `main` is the body of the stand-in. */
async function commandWith(main: string, file: 'src/cli.ts' | 'dist/src/cli.js'): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'src'));
  await mkdir(join(folder, 'dist/src'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await cp(join(ROOT, 'src/bin.js'), join(folder, 'src/bin.js'));
  const types = file.endsWith('.ts') ? ': string[]' : '';
  await writeFile(join(folder, file), `export async function main(args${types}) { ${main} }\n`);
  return folder;
}

/** Makes the Node that starts the command look like an old one; a Node started by it does not. */
const OLD = ['--import', "data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '24.19.9' })"];

async function giveOwnNode(folder: string): Promise<void> {
  await mkdir(join(folder, 'node_modules/node/bin'), { recursive: true });
  const node = join(folder, 'node_modules/node/bin/node');
  await writeFile(node, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
  await chmod(node, 0o755);
}

function start(folder: string, nodeOptions: string[], args: string[]) {
  const result = spawnSync(process.execPath, [...nodeOptions, join(folder, 'src/bin.js'), ...args], {
    encoding: 'utf8',
  });
  return { code: result.status, out: result.stdout, err: result.stderr };
}

const ECHO = 'process.stdout.write(JSON.stringify(args)); return 5;';

test.each(['src/cli.ts', 'dist/src/cli.js'] as const)('the command runs %s and ends with its code', async (file) => {
  const folder = await commandWith(ECHO, file);
  expect(start(folder, [], ['sync', '--force', 'a b'])).toEqual({ code: 5, out: '["sync","--force","a b"]', err: '' });
});

test('what was compiled is kept beside the sources, and where it cannot be the command runs as well', async () => {
  const folder = await commandWith(ECHO, 'src/cli.ts');
  expect(start(folder, [], []).code).toBe(5);
  const [version, ...others] = await readdir(join(folder, '.cache/compiled'));
  expect(others).toEqual([]);
  expect((await readdir(join(folder, '.cache/compiled', String(version)))).length).toBeGreaterThan(0);
  const blocked = await commandWith(ECHO, 'src/cli.ts');
  await writeFile(join(blocked, '.cache'), '');
  expect(start(blocked, [], [])).toEqual({ code: 5, out: '[]', err: '' });
});

test('on an old Node the command says what it needs', async () => {
  const folder = await commandWith(ECHO, 'dist/src/cli.js');
  expect(start(folder, OLD, ['sync'])).toEqual({
    code: 2,
    out: '',
    err:
      'domainsync needs Node 24.20.0 or later, and this is Node 24.19.9.\n' +
      'Install Node 24.20.0 or later (https://nodejs.org) and run it again.\n',
  });
});

test('on an old Node a checkout uses the Node that it brings along', async () => {
  const folder = await commandWith(ECHO, 'src/cli.ts');
  await giveOwnNode(folder);
  expect(start(folder, OLD, ['a b'])).toEqual({ code: 5, out: '["a b"]', err: '' });
});

test('a checkout whose own Node is too old does not start itself for ever', async () => {
  const folder = await commandWith(ECHO, 'src/cli.ts');
  await mkdir(join(folder, 'node_modules/node/bin'), { recursive: true });
  await symlink(process.execPath, join(folder, 'node_modules/node/bin/node'));
  expect(start(folder, OLD, []).code).toBe(2);
});

const WAIT = `
  const timer = setInterval(() => {}, 1000);
  const caught = new Promise((resolve) => process.once('SIGTERM', resolve));
  process.stdout.write('ready');
  await caught;
  clearInterval(timer);
  return 130;`;

test('signals and codes pass through the Node in between', async () => {
  const folder = await commandWith(WAIT, 'src/cli.ts');
  await giveOwnNode(folder);
  const command = spawn(process.execPath, [...OLD, join(folder, 'src/bin.js')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(command.stdout, 'data');
  command.kill('SIGTERM');
  expect(await once(command, 'close')).toEqual([130, null]);
});

test('a command killed by a signal ends by that signal', async () => {
  const folder = await commandWith("process.kill(process.pid, 'SIGKILL'); return 0;", 'src/cli.ts');
  await giveOwnNode(folder);
  const command = spawn(process.execPath, [...OLD, join(folder, 'src/bin.js')], { stdio: 'ignore' });
  expect(await once(command, 'close')).toEqual([null, 'SIGKILL']);
});

test('what is built runs inside node_modules', async () => {
  const folder = await temporaryFolder();
  const installed = join(folder, 'node_modules/domainsync');
  await mkdir(installed, { recursive: true });
  build(join(installed, 'dist'));
  for (const file of ['package.json', 'src/bin.js', 'config/domainsync.yaml']) {
    await cp(join(ROOT, file), join(installed, file), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  const script = `
    import { loadConfig } from 'domainsync/dist/config/load.js';
    const config = loadConfig({ path: 'node_modules/domainsync/config/domainsync.yaml', env: {}, needs: { service: true } });
    console.log(config.pipelines.map((pipeline) => pipeline.name).join());`;
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, encoding: 'utf8' });
  expect([result.stderr, result.stdout]).toEqual(['', 'dns\n']);
});
