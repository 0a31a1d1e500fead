import { play } from './suite.ts';

// Built once by vitest.config.ts.
play({ name: 'Go', command: ['clients/conformance/.work/go-driver'] });
