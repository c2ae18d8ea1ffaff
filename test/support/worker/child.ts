/** The command line with different worker times: `child.ts <times as JSON> <arguments>`. */
import { main } from '../../../src/cli.ts';
import type { Times } from '../../../src/worker/times.ts';

process.exitCode = await main(process.argv.slice(3), JSON.parse(process.argv[2] ?? '{}') as Partial<Times>);
