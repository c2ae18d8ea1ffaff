/**
 * `node test/scan/fuzz.ts [--seed n] [--lines n]`: random lines through the scanners and through the rules, until there were
 * so many or one differs. The short run is fuzz.test.ts.
 */
import { parseArgs } from 'node:util';
import { fuzz } from './run.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, lines: { type: 'string', default: '1000000' } },
});
let told = 0;
const share = fuzz(Number(values.seed), Number(values.lines), (lines) => {
  if (lines - told < 100_000) return;
  told = lines;
  process.stderr.write(`${lines} lines\n`);
});
process.stdout.write(
  `${values.lines} lines from seed ${values.seed}: no difference; ${Math.round(share * 100)} % of the usable ones scanned\n`,
);
