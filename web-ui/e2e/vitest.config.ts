import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['e2e/*.test.ts'],
    environment: 'node',
    fileParallelism: false,
    maxConcurrency: Math.max(2, availableParallelism()),
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // As long as a wait in the browser.
    expect: { poll: { timeout: 120_000 } },
  },
});
