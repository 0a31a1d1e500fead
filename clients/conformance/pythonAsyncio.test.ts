import { play } from './suite.ts';

play({ name: 'Python asyncio', command: ['python3', 'clients/python/conformance.py', '--async'] });
