/** `npm run test:kill -- [--seed n] [--kills n] [--mode sync|replace|append] [--rows n]`: loads under kills, with figures. */
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import type { Mode } from './state.ts';

const MODES: readonly string[] = ['sync', 'replace', 'append'] satisfies Mode[];

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    kills: { type: 'string', default: '100' },
    mode: { type: 'string', default: 'sync' },
    rows: { type: 'string', default: '18000' },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
if (!MODES.includes(values.mode)) throw new Error(`--mode is one of ${MODES.join(', ')}`);
console.log(`${values.kills} kills from seed ${seed} on, mode ${values.mode}, ${values.rows} rows a file`);
const { figures, faults, ...failed } = await runCampaign({
  seed,
  kills: Number(values.kills),
  mode: values.mode as Mode,
  files: { rows: Number(values.rows) },
  told: (line) => console.log(line),
});
console.log(JSON.stringify(figures, null, 2));
if (faults.length > 0) {
  console.log(`WRONG, to be played again with --seed ${failed.seed}:`);
  for (const line of [...faults, 'the schedule of the last file:', ...failed.schedule]) console.log(`  ${line}`);
  process.exitCode = 1;
}
