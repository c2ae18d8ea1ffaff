/** Registers the commands with their arguments and options. Their implementations are in separate files. */
import { Argument, type Command } from 'commander';
import { MAX_HISTORY, SLICE_SCOPES, type SliceScope } from '../types/index.ts';
import type { App } from './app.ts';
import { checkCommand } from './commands/check.ts';
import { rejectsCommand, statusCommand } from './commands/status.ts';
import { syncCommand } from './commands/sync.ts';
import { wholeNumber } from './options.ts';

/** What a command needs of the configured service: all of it, nothing, or its URL with a key if there is one. */
export type ServiceNeed = boolean | 'url';

/** Runs a command with an App and ends with the exit code it returns. */
export type RunCommand = (need: ServiceNeed, command: (app: App) => Promise<number>) => Promise<void>;

interface SyncFlags {
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly fromFile?: string;
  readonly fileDate?: string;
}

/** `sync`, `check`, `status`, `rollback`, `rejects`, `history`. */
export function registerPipelineCommands(program: Command, run: RunCommand): void {
  program
    .command('sync')
    .description('run the pipelines once, all when none is named')
    .argument('[pipeline...]')
    .option(
      '--force',
      'reload a file that is loaded already, and pass minRows; maxRejected and the order of dates still hold',
    )
    .option('--dry-run', 'only tell what would be done')
    .option('--from-file <path>', 'load a local .jsonl.zst or .jsonl file instead of asking the service')
    .option('--file-date <date>', 'its date, YYYY-MM-DD, where its name carries none')
    .action((names: string[], { dryRun = false, force = false, fromFile, fileDate }: SyncFlags) => {
      const options = {
        force,
        ...(fromFile === undefined ? {} : { fromFile }),
        ...(fileDate === undefined ? {} : { fileDate }),
      };
      const command = dryRun ? checkCommand : syncCommand;
      return run(fromFile === undefined, (app) => command(app, names, options));
    });
  program
    .command('check')
    .description('tell what is newest, what is loaded, and what a sync would do; downloads nothing')
    .argument('[pipeline...]')
    .action((names: string[]) => run(true, (app) => checkCommand(app, names, { force: false })));
  program
    .command('status')
    .description('what each destination holds: file date, rows, age, last run, last error, rejected rows')
    .argument('[pipeline...]')
    .action((names: string[]) => run(false, (app) => statusCommand(app, names)));
  program
    .command('rollback')
    .description('mode replace: put back the table from before the last file, once')
    .argument('<pipeline>')
    .action((name: string) =>
      run(false, async (app) => (await import('./commands/rollback.ts')).rollbackCommand(app, name)),
    );
  program
    .command('rejects')
    .description('rejected lines, newest first')
    .argument('[pipeline]')
    .action((name: string | undefined) => run(false, (app) => rejectsCommand(app, name)));
  program
    .command('history')
    .description('what was known of a domain and when, where the table keeps versions (history: true)')
    .argument('<pipeline>')
    .argument('<domain>')
    .action((name: string, domain: string) =>
      run(false, async (app) => (await import('./commands/history.ts')).historyCommand(app, name, domain)),
    );
}

/**
 * `datasets`, `me`, `orders`, `downloads`, `preview`, `sample`, `contract`. Loaded on demand, because a load does not need them.
 */
export function registerServiceCommands(program: Command, run: RunCommand): void {
  const account = () => import('./commands/account.ts');
  program
    .command('datasets')
    .description("the service's catalog; needs no key")
    .action(() => run('url', async (app) => (await account()).datasetsCommand(app)));
  program
    .command('me')
    .description('whose key this is, and what it may do')
    .action(() => run(true, async (app) => (await account()).meCommand(app)));
  program
    .command('orders')
    .description("the account's orders and their status")
    .action(() => run(true, async (app) => (await account()).ordersCommand(app)));
  program
    .command('downloads')
    .description("the account's download history")
    .option('--limit <n>', `entries, at most ${MAX_HISTORY}`, wholeNumber(1, MAX_HISTORY))
    .action(({ limit }: { limit?: number }) =>
      run(true, async (app) => (await account()).downloadsCommand(app, limit)),
    );
  const output = ['-o, --output <file>', 'save all rows as JSON Lines; compressed when the name ends in .zst'] as const;
  program
    .command('preview')
    .description('first rows of the free sample of a dataset')
    .argument('<dataset>', 'slug, as `datasets` lists it')
    .option(...output)
    .action((dataset: string, options: { output?: string }) =>
      run(true, async (app) => (await import('./commands/sample.ts')).sampleCommand(app, { dataset }, options.output)),
    );
  program
    .command('sample')
    .description('rows of the free sample of one slice of a dataset')
    .argument('<dataset>', 'slug, as `datasets` lists it')
    .addArgument(new Argument('<scope>', 'what the slice is of').choices(SLICE_SCOPES))
    .argument('<key>', 'a TLD, a suffix, a country code or a technology')
    .option(...output)
    .action((dataset: string, scope: SliceScope, key: string, options: { output?: string }) => {
      const target = { dataset, slice: { scope, key } };
      return run(true, async (app) =>
        (await import('./commands/sample.ts')).sampleCommand(app, target, options.output),
      );
    });
  program
    .command('contract')
    .description("compare the service's OpenAPI document with what domainsync relies on")
    .action(() => run('url', async (app) => (await import('./commands/contract.ts')).contractCommand(app)));
}
