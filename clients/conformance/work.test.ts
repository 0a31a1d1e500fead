import { play } from './suite.ts';

play({
  name: 'dibs work',
  command: ['node', 'clients/conformance/drivers/work.mjs'],
  lacks: [
    'progress',
    'follow-ups',
    'decode',
    'producer',
    'codes',
    'key function',
    'time-outs',
    'causes',
    'delays',
    'own stop',
    'cancel',
    'expiry',
  ],
});
