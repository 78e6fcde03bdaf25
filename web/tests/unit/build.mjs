// build.mjs - logic.ts as a module for node, in .work/unit.
import { build } from 'vite';

await build({
  configFile: false,
  logLevel: 'error',
  build: { ssr: 'tests/unit/logic.ts', outDir: '.work/unit', rollupOptions: { output: { entryFileNames: 'logic.js' } } },
});
