import { play } from './suite.ts';

play({
  name: 'TypeScript',
  command: ['node', 'clients/conformance/drivers/typescript.mjs'],
  lacks: ['cancel'],
});
