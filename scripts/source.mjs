import { createServer } from 'vite';

const server = await createServer({
  configFile: false,
  logLevel: 'error',
  server: { middlewareMode: true, watch: null, ws: false },
});

/** A module of TypeScript, from its source: nothing has to be built. `file` is its path from the root. */
export const importSource = (file) => server.ssrLoadModule(`/${file}`);
