/** The command line's entry: joins configuration, connectors and commands with src/composition/. */
import { join, resolve } from 'node:path';
import { CommanderError } from 'commander';
import { passOnCompileCache } from '../config/compile-cache.ts';
import { loadConfig } from '../config/load.ts';
import { redactor } from '../config/redact.ts';
import { clickhouseCommand } from './cli/commands/clickhouse.ts';
import type { DemoApp } from './cli/commands/demo.ts';
import { tellFailure, tellUsage } from './cli/failure.ts';
import { buildProgram, type GlobalOptions } from './cli/program.ts';
import type { ServiceNeed } from './cli/register.ts';
import { keepStandardStreams } from './cli/standard-streams.ts';
import { asDomainsyncError, DomainsyncError, interrupted } from './common/errors.ts';
import { type Opened, open, VERSION } from './composition/open.ts';
import type { Times } from './worker/times.ts';

type Action = (opened: Opened) => Promise<number>;

/** Runs one command line. @param times of the worker. @returns the exit code; throws nothing */
export async function main(argv: readonly string[], times: Partial<Times> = {}): Promise<number> {
  passOnCompileCache();
  const controller = new AbortController();
  let exitCode = 0;
  const onSignal = (): void => {
    // A second signal does not wait for the shutdown that the first one started.
    if (controller.signal.aborted) process.exit(130);
    controller.abort(interrupted());
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const streams = keepStandardStreams();
  const { signal } = controller;
  const program = buildProgram({
    version: VERSION,
    signal,
    run: (options, need, command) => withConfig(options, need, signal, ({ app }) => command(app)),
    clickhouse: (options) => withConfig(options, false, signal, serveClickHouse),
    demo: (options) => demo(options, signal),
    worker: async (options) => {
      // Loaded on demand: the other commands need no queues or pages.
      const { worker } = await import('./composition/worker.ts');
      return worker(options, signal, times);
    },
    done: (code) => {
      exitCode = code;
    },
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) exitCode = tellUsage(error, argv);
    else exitCode = tellFailure(asDomainsyncError(error), program.opts<GlobalOptions>(), (text) => text);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
  return streams.end(exitCode);
}

/** Loads the configuration, runs the action, and closes whatever it opened. Errors are shown with its secrets redacted. */
async function withConfig(
  options: GlobalOptions,
  need: ServiceNeed,
  signal: AbortSignal,
  action: Action,
): Promise<number> {
  const config = loadConfig({
    ...(options.config === undefined ? {} : { path: options.config }),
    needs: { service: need },
  });
  const opened = open(config, options, signal);
  try {
    return await action(opened);
  } catch (error) {
    return tellFailure(asDomainsyncError(error), options, redactor(config));
  } finally {
    await opened.close();
  }
}

async function serveClickHouse({ app, config, clickhouse }: Opened): Promise<number> {
  if (config.clickhouse.kind !== 'embedded') {
    throw new DomainsyncError('USAGE', 'clickhouse.url names a server: there is no embedded one to run');
  }
  const { address } = await clickhouse();
  return clickhouseCommand(app, { ...address, passwordFile: join(config.clickhouse.path, 'password') });
}

async function demo(options: GlobalOptions, signal: AbortSignal): Promise<number> {
  // Loaded on demand, so that a data generator takes no memory during a load.
  const { demoCommand } = await import('./cli/commands/demo.ts');
  const openDemo = async (path: string, env: Readonly<Record<string, string>>): Promise<DemoApp> => {
    const opened = open(loadConfig({ path, env, needs: { service: true } }), options, signal);
    const clickhouse = await opened.clickhouse();
    return {
      app: opened.app,
      forget: () => clickhouse.dropDatabase(signal),
      query: (sql) => clickhouse.query(sql, signal),
      close: opened.close,
    };
  };
  return demoCommand({ open: openDemo, out: process.stdout, signal }, resolve('data/demo'));
}
