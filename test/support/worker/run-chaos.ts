/** `npm run test:worker -- [--seed n] [--runs n] [--rounds n]`: runs more chaos than the tests do, or repeats one run. */
import { parseArgs } from 'node:util';
import { chaos } from './chaos.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '10' },
  },
});
const first = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
let wrong = 0;
for (let seed = first; seed < first + Number(values.runs); seed += 1) {
  const { faults, done, downloaded } = await chaos({ seed, rounds: Number(values.rounds), rows: 4_000 });
  console.log(`seed ${seed}: ${done.length} misfortunes, ${downloaded.toFixed(2)} times the bytes of the files`);
  if (faults.length === 0) continue;
  wrong += 1;
  console.log(faults.join('\n'), `\n${done.join(', ')}`);
}
console.log(`${wrong} of ${values.runs} wrong`);
process.exitCode = wrong === 0 ? 0 : 1;
