import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real servers start inside tests; a slow machine must not fail them. These bound a hang, not performance.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Each file runs in a process of its own, as the product does: no shared globals, real worker threads inside.
    pool: 'forks',
    maxWorkers: 2,
  },
});
