// `npm run synthetic`: the built dashboard with a grid that was never there, till Ctrl-C.
import { createServer } from 'vite';

const vite = await createServer({ server: { middlewareMode: true, ws: false }, appType: 'custom', logLevel: 'error' });
const { serve } = await vite.ssrLoadModule('/e2e/synthetic/server.ts');
const served = await serve({ port: Number(process.argv[2] ?? 7711), dist: new URL('../../dist', import.meta.url).pathname });
console.log(served.url);
