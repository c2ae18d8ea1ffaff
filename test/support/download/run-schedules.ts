/** `npm run test:download -- [--seed n] [--runs n]`: runs more fault schedules than the tests do, or repeats one. */
import { parseArgs } from 'node:util';
import { runSchedules } from './schedule.ts';

const { values } = parseArgs({ options: { seed: { type: 'string' }, runs: { type: 'string', default: '1000' } } });
const first = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const count = Number(values.runs);
const endings: Record<string, number> = {};
let wrong = 0;
console.log(`${count} schedules from seed ${first} on`);
await runSchedules({ first, count }, (seed, report) => {
  for (const ending of report.runs) endings[ending] = (endings[ending] ?? 0) + 1;
  if (report.faults.length === 0) return;
  wrong += 1;
  console.log(`seed ${seed}: ${JSON.stringify(report, null, 2)}`);
});
console.log(`${wrong} of ${count} wrong; runs ended with ${JSON.stringify(endings)}`);
process.exitCode = wrong === 0 ? 0 : 1;
