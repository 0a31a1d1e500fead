import { playLongOutages } from './longOutage.ts';

playLongOutages({ name: 'TypeScript', command: ['node', 'clients/conformance/drivers/typescript.mjs'] });

// `npm run test:clients` plays every library.
if (process.env.CONFORMANCE_SLOW === '1') {
  playLongOutages({ name: 'Python', command: ['python3', 'clients/python/conformance.py'] });
  playLongOutages({
    name: 'Python asyncio',
    command: ['python3', 'clients/python/conformance.py', '--async'],
  });
  playLongOutages({ name: 'Go', command: ['clients/conformance/.work/go-driver'] });
  playLongOutages({
    name: 'dibs work',
    command: ['node', 'clients/conformance/drivers/work.mjs'],
    lacks: ['expiry'],
  });
}
