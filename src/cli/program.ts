/** The whole command line: global options, and every command with its action. */
import { Command, Option } from 'commander';
import { LOG_LEVELS, type LogLevel } from '../common/logger.ts';
import type { App } from './app.ts';
import { wholeNumber } from './options.ts';
import { type RunCommand, registerPipelineCommands, registerServiceCommands, type ServiceNeed } from './register.ts';

/** Options that every command has. */
export interface GlobalOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: 'text' | 'json';
}

/** What the composition root does for the commands. Each action returns the exit code. */
interface Actions {
  readonly version: string;
  readonly signal: AbortSignal;
  /** Loads the configuration and runs a command that needs only an App. */
  run(options: GlobalOptions, need: ServiceNeed, command: (app: App) => Promise<number>): Promise<number>;
  clickhouse(options: GlobalOptions): Promise<number>;
  worker(options: GlobalOptions): Promise<number>;
  demo(options: GlobalOptions): Promise<number>;
  /** Called with the exit code of the command that ran. */
  done(code: number): void;
}

export function buildProgram(actions: Actions): Command {
  const { version, signal, done } = actions;
  const program = new Command('domainsync')
    .description('Keeps ClickHouse tables in sync with the dated files of a domain dataset service.')
    .version(version, '-V, --version')
    .option('-c, --config <file>', 'configuration file (default: config/domainsync.yaml, or DOMAINSYNC_CONFIG)')
    .option('--json', 'one JSON document on stdout')
    .addOption(new Option('--log-level <level>', 'least severe log lines shown').choices(LOG_LEVELS).default('info'))
    .addOption(
      new Option('--log-format <format>', 'for people or for machines').choices(['text', 'json']).default('text'),
    )
    .exitOverride()
    .showHelpAfterError('(run with --help for the commands and options)');
  const options = (): GlobalOptions => program.opts<GlobalOptions>();
  const runCommand: RunCommand = async (need, command) => done(await actions.run(options(), need, command));
  registerPipelineCommands(program, runCommand);
  registerServiceCommands(program, runCommand);
  program
    .command('demo')
    .description('the whole product in one go, with a stand-in service and an embedded ClickHouse')
    .action(async () => done(await actions.demo(options())));
  registerSandbox(program, signal);
  program
    .command('clickhouse')
    .description('run the embedded ClickHouse in the foreground, for other programs')
    .action(async () => done(await actions.clickhouse(options())));
  program
    .command('worker')
    .description('keep the schedules of all pipelines, run them, and serve health, metrics and the status page')
    .action(async () => done(await actions.worker(options())));
  return program;
}

function registerSandbox(program: Command, signal: AbortSignal): void {
  program
    .command('sandbox')
    .description('serve a stand-in for the dataset service, with invented data')
    .option('--port <port>', 'port of 127.0.0.1', wholeNumber(0, 65_535), 8787)
    .option('--rows <n>', 'domains', wholeNumber(1, 100_000_000), 20_000)
    .option('--seed <n>', 'other data for another seed', wholeNumber(0, 0xffff_ffff), 1)
    .option('--publish-every <seconds>', 'publish the next files so often', wholeNumber(1, 1_000_000))
    .action(async (options: { port: number; rows: number; seed: number; publishEvery?: number }) => {
      const print = (line: string): void => void process.stdout.write(`${line}\n`);
      const { sandboxCommand } = await import('./commands/sandbox.ts');
      await sandboxCommand({ ...options, print, signal });
    });
}
