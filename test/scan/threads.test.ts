import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('./threads.ts', import.meta.url));
/** V8 then compiles at the first call, in all threads at once. */
const EAGER = '--wasm-wrapper-tiering-budget=1';

test('threads that call the host at the same moment do not bring the process down', async () => {
  const child = spawn(process.execPath, [EAGER, SCRIPT, '40'], { stdio: ['ignore', 'ignore', 'inherit'] });
  expect(await once(child, 'close')).toEqual([0, null]);
});
