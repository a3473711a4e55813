import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** For `npx vite`: where the API is. */
const coordinator = process.env.SATEEN_COORDINATOR ?? 'http://127.0.0.1:7700';
const proxied = { target: coordinator, changeOrigin: true, headers: { origin: coordinator } };

export default defineConfig({
  plugins: [svelte()],
  build: {
    // What knows `light-dark()`.
    target: ['chrome123', 'firefox121', 'safari17.5'],
    // The page's policy allows nothing inline, `data:` neither.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The console's messages are the framework's, for its developers.
    rolldownOptions: { output: { minify: { compress: { dropConsole: true }, mangle: true, codegen: true } } },
  },
  server: { proxy: { '/api': proxied, '/ws': { ...proxied, ws: true }, '/version': proxied } },
  resolve: process.env.VITEST ? { conditions: ['browser'] } : {},
  test: { include: ['tests/**/*.test.ts'], environment: 'happy-dom' },
});
