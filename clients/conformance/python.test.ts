import { play } from './suite.ts';

play({
  name: 'Python',
  command: ['python3', 'clients/python/conformance.py'],
  lacks: ['cancel'],
});
