/**
 * `npm run test:history -- [--seed n] [--files n] [--rows n] [--kills n] [--no-deletes] [--slices]`: tables with history under kills, compared with
 * what they showed after each file and with the oracle.
 */
import { parseArgs } from 'node:util';
import { runHistoryCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    files: { type: 'string', default: '20' },
    rows: { type: 'string', default: '2000' },
    kills: { type: 'string', default: '60' },
    'no-deletes': { type: 'boolean', default: false },
    slices: { type: 'boolean', default: false },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const { files, rows, kills } = values;
console.log(`${kills} kills from seed ${seed} on, ${files} files of ${rows} rows a round`);
const { figures, faults, ...failed } = await runHistoryCampaign({
  seed,
  files: Number(files),
  rows: Number(rows),
  kills: Number(kills),
  deletes: !values['no-deletes'],
  slices: values.slices,
  told: (line) => console.log(line),
});
console.log(JSON.stringify(figures, null, 2));
if (faults.length > 0) {
  console.log(`WRONG, to be played again with --seed ${failed.seed}:`);
  for (const line of [...faults, 'what happened:', ...failed.schedule]) console.log(`  ${line}`);
  process.exitCode = 1;
}
