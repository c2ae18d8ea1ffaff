import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compileModule, MODULES } from '../../tools/build-scanner.ts';

test.each(Object.keys(MODULES) as (keyof typeof MODULES)[])('%s is what its sources make', async (module) => {
  const committed = readFileSync(new URL(`../../${module}`, import.meta.url));
  // When this fails: npm run build:scanner
  expect(Buffer.compare(await compileModule(module), committed)).toBe(0);
});
