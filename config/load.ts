/** Reads the configuration. No other code reads the environment or a configuration file. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { DomainsyncError } from '../src/common/errors.ts';
import { selectColumns } from '../src/rows/columns.ts';
import type { Where } from '../src/types/index.ts';
import { suggestion } from './nearest.ts';
import { overlaps } from './overlaps.ts';
import { pipeline as pipelineSchema } from './pipeline.ts';
import { proxyOf } from './proxy.ts';
import type { ClickHouseConfig, Config, Pipeline } from './schema.ts';
import * as sections from './sections.ts';
import { type Environment, EnvText, substitute, TooDeep } from './substitute.ts';
import { type Fault, faultsOf, isMapping } from './values.ts';

const DEFAULT_PATH = 'config/domainsync.yaml';

export interface LoadOptions {
  /** The path given on the command line. Default: DOMAINSYNC_CONFIG, then `config/domainsync.yaml`. */
  readonly path?: string | undefined;
  /** Default: the process's own. */
  readonly env?: Environment;
  /** The base of relative paths. Default: the process's working directory. */
  readonly cwd?: string;
  /**
   * A command that never calls the service passes false: it may lack url and key. A command that calls only public
   * endpoints passes 'url': it may lack the key.
   */
  readonly needs: { readonly service: boolean | 'url' };
}

/** LoadOptions with the defaults applied. `path` appears only in messages. */
type ParseOptions = Required<LoadOptions> & { readonly path: string };

/** The faults of a file, each as `path: what is wrong`. */
interface Faulty {
  readonly faults: readonly string[];
  /** The environment variables that service.apiKey names, if the missing key is the only fault. */
  readonly keyMissing: readonly string[] | null;
}

/**
 * Loads and checks the configuration. Opens only that file.
 * @throws CONFIG_INVALID with the path of every fault and no value; SOURCE_KEY_MISSING if that is the only fault
 */
export function loadConfig(options: LoadOptions): Config {
  const { env = process.env, cwd = process.cwd(), needs } = options;
  const path = options.path ?? (env['DOMAINSYNC_CONFIG'] || DEFAULT_PATH);
  const result = parseConfig(readText(resolve(cwd, path), path), { path, env, cwd, needs });
  if ('config' in result) return result.config;
  if (result.keyMissing !== null) throw keyMissing(path, result.faults, result.keyMissing);
  const count = result.faults.length === 1 ? 'a fault' : `${result.faults.length} faults`;
  throw new DomainsyncError('CONFIG_INVALID', [`${path} has ${count}:`, ...result.faults].join('\n'));
}

function keyMissing(path: string, faults: readonly string[], variables: readonly string[]): DomainsyncError {
  const names = variables.join(', ');
  const told = faults.map((fault) =>
    variables.every((name) => fault.includes(name)) ? fault : `${fault} (it is read from ${names})`,
  );
  const where = names === '' ? `Set service.apiKey in ${path}` : `Set ${names} in the environment, or service.apiKey`;
  return new DomainsyncError('SOURCE_KEY_MISSING', `${path} gives no API key: ${told.join('; ')}`, {
    hint: `${where}: keys are made in your account with the service, which shows each of them once.`,
  });
}

/** Parses and checks a file's text for loadConfig. */
export function parseConfig(
  text: string,
  { path, env, cwd, needs }: ParseOptions,
): { readonly config: Config } | Faulty {
  const parsed = parseYaml(text);
  if ('faults' in parsed) return { ...parsed, keyMissing: null };
  let root: unknown;
  try {
    root = substitute(parsed.value ?? {}, env);
  } catch (error) {
    if (error instanceof TooDeep) return { faults: ['it is nested too deeply'], keyMissing: null };
    throw error;
  }
  if (!isMapping(root)) {
    return { faults: ['it must be a mapping of sections, such as pipelines'], keyMissing: null };
  }
  const faults = unknownSections(root);
  const config = assemble(root, { path, env, cwd, needs }, faults);
  if (faults.length === 0) return { config: deepFreeze(config) };
  return { faults: faults.map(describe), keyMissing: missingKey(root, faults) };
}

/** The variables named in place of the key, if the missing key is the only fault; otherwise null. */
function missingKey(root: Readonly<Record<string, unknown>>, faults: readonly Fault[]): readonly string[] | null {
  if (!faults.every(({ path }) => path.length === 2 && path[0] === 'service' && path[1] === 'apiKey')) return null;
  const key: unknown = isMapping(root['service']) ? root['service']['apiKey'] : undefined;
  if (key instanceof EnvText) return key.text === '' && key.names.length > 0 ? key.names : null;
  return key === undefined || key === null || key === '' ? [] : null;
}

function readText(absolute: string, path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(absolute);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    const missing = code === 'ENOENT';
    throw new DomainsyncError('CONFIG_INVALID', `${path} ${missing ? 'does not exist' : `cannot be read: ${code}`}`, {
      cause,
      hint: 'Name the file with --config or DOMAINSYNC_CONFIG; a working example comes with domainsync as config/domainsync.yaml.',
    });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new DomainsyncError('CONFIG_INVALID', `${path} is not UTF-8 text`);
  }
}

/** Messages for the usual faults. The library's own messages quote the file, which may hold secrets. */
const YAML_FAULTS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key stands twice in one mapping',
  MULTIPLE_DOCS: 'the file must hold one document',
  TAB_AS_INDENT: 'indent with spaces, not with tabs',
  NON_STRING_KEY: 'a key must be plain text',
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot start here: put a value with a colon in quotes',
  MISSING_CHAR: 'a quote, bracket, colon or comma is missing',
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes: double the backslash, or use single quotes',
  TAG_RESOLVE_FAILED: 'tags (!) are not supported: put a value that starts with ! in quotes',
};

function parseYaml(text: string): { readonly value: unknown } | { readonly faults: readonly string[] } {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    stringKeys: true,
    resolveKnownTags: false,
    logLevel: 'error',
  });
  // Warnings count too: they report values that YAML could not interpret.
  const faults = [...document.errors, ...document.warnings].map(({ code, pos }) => {
    const { line, col } = lineCounter.linePos(pos[0]);
    return `line ${line}, column ${col}: ${YAML_FAULTS[code] ?? 'this is no valid YAML'}`;
  });
  if (faults.length > 0) return { faults };
  try {
    return { value: document.toJS() };
  } catch {
    // An alias without an anchor. The library's error quotes it.
    return { faults: ['an alias (*) names no anchor: put a value that starts with * in quotes'] };
  }
}

const SECTIONS = ['service', 'clickhouse', 'kafka', 'redis', 'dataDir', 'download', 'history', 'worker', 'pipelines'];

function unknownSections(root: Readonly<Record<string, unknown>>): Fault[] {
  const unknown = Object.keys(root).filter((key) => !SECTIONS.includes(key));
  return unknown.map((key) => ({ path: [key], message: `unknown key${suggestion(key, SECTIONS)}`, absent: false }));
}

/** Builds the configuration and collects the faults. The result is valid only without faults. */
function assemble(
  root: Readonly<Record<string, unknown>>,
  { path, env, cwd, needs }: ParseOptions,
  faults: Fault[],
): Config {
  // A section with every line commented out is null in YAML: use its defaults.
  const raw = (name: string): unknown => root[name] ?? {};
  const read = <T extends z.ZodType>(schema: T, value: unknown, under: Fault['path']): z.output<T> => {
    const result = schema.safeParse(value);
    if (!result.success) faults.push(...faultsOf(result.error, under));
    return result.data as z.output<T>;
  };
  const service = readService(raw('service'), { env, needs }, faults);
  const clickhouse = read(sections.clickhouse, raw('clickhouse'), ['clickhouse']);
  const kafka = read(sections.kafka, raw('kafka'), ['kafka']);
  const redis = read(sections.redis, raw('redis'), ['redis']);
  const dataDir = read(sections.dataDir, root['dataDir'], ['dataDir']);
  const download = read(sections.download, raw('download'), ['download']);
  const history = read(sections.history, raw('history'), ['history']);
  const worker = read(sections.worker, raw('worker'), ['worker']);
  const pipelines = readPipelines(raw('pipelines'), faults);
  return {
    path,
    service,
    clickhouse: clickhouse && clickHouseOf(clickhouse, cwd),
    kafka: kafka && { brokers: kafka.brokers, ssl: kafka.ssl, sasl: kafka.sasl },
    redis,
    dataDir: dataDir && resolve(cwd, dataDir),
    download,
    history: history && { ...history, versions: history.versions ?? null },
    worker: worker && { host: worker.http.host, port: worker.http.port, token: worker.token || undefined },
    pipelines,
  };
}

function readService(
  raw: unknown,
  { env, needs }: Pick<ParseOptions, 'env' | 'needs'>,
  faults: Fault[],
): Config['service'] {
  const result = sections.service.safeParse(raw);
  if (result.success) {
    const { url, apiKey } = result.data;
    return { url, apiKey, proxy: proxyOf(env, needs.service === false ? [] : faults) };
  }
  const found = faultsOf(result.error, ['service']);
  const keyless = needs.service === 'url' && found.every(({ absent, path }) => absent && path[1] === 'apiKey');
  if (keyless) {
    const { url } = sections.service.parse({ ...Object(raw), apiKey: 'none' });
    return { url, apiKey: undefined, proxy: proxyOf(env, faults) };
  }
  faults.push(...found.filter((fault) => needs.service !== false || !fault.absent));
  return undefined;
}

/** The default of clickhouse.replicaTimeout. It stands here, since the section tells whether one was given. */
const REPLICA_TIMEOUT_MS = 5 * 60_000;

function clickHouseOf(parsed: z.output<typeof sections.clickhouse>, cwd: string): ClickHouseConfig {
  const { url, database, username, password, cluster, replicaTimeout = REPLICA_TIMEOUT_MS } = parsed;
  const settings = parsed.settings ?? {};
  const urls = typeof url === 'string' ? [url] : url;
  const folder = urls[0]?.startsWith('embedded:') ? urls[0].slice('embedded:'.length) : null;
  return folder === null
    ? { kind: 'server', urls, cluster, replicaTimeout, database, username, password, settings }
    : { kind: 'embedded', path: resolve(cwd, folder), database, settings };
}

function readPipelines(raw: unknown, faults: Fault[]): readonly Pipeline[] {
  if (!isMapping(raw)) {
    faults.push({ path: ['pipelines'], message: 'must be a mapping of names to pipelines', absent: false });
    return [];
  }
  const pipelines: Pipeline[] = [];
  for (const [name, value] of Object.entries(raw)) {
    const path = ['pipelines', name];
    // A leading dash would read as an option on the command line.
    if (!/^[a-z0-9][a-z0-9-]{0,99}$/.test(name)) {
      const message = 'a name is of a-z, 0-9 and -, at most 100, and starts with no -';
      faults.push({ path, message, absent: false });
    }
    const result = pipelineSchema.safeParse(value);
    if (result.success) pipelines.push(pipelineOf(name, result.data));
    else faults.push(...faultsOf(result.error, path));
  }
  faults.push(...overlaps(pipelines));
  return pipelines;
}

function pipelineOf(name: string, parsed: z.output<typeof pipelineSchema>): Pipeline {
  const { dataset, slice, fileName, schedule, columns, maxRejected, minRows } = parsed;
  const { clickhouse, kafka } = parsed.to;
  const where: Where = Object.entries(parsed.where ?? {}).flatMap(([column, values]) =>
    values === undefined ? [] : [{ column, values }],
  );
  const inSync = clickhouse?.mode === 'sync';
  return {
    name,
    target: { dataset, ...(slice && { slice }), ...(fileName === undefined ? {} : { fileName }) },
    schedule,
    where,
    columns: columns && selectColumns(columns).map((column) => column.name),
    maxRejected,
    minRows,
    to: {
      clickhouse: clickhouse && {
        table: clickhouse.table,
        mode: clickhouse.mode,
        deletes: inSync && clickhouse.deletes !== false,
        changes: inSync && clickhouse.changes !== false,
        history: inSync && clickhouse.history === true,
      },
      kafka,
    },
  };
}

function describe({ path, message }: Fault): string {
  const where = path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
  return `${where}: ${message}`;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
