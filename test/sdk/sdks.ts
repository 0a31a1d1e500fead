import { openApiGenerator } from './openApiGenerator.ts';
import { otherGenerators } from './otherGenerators.ts';
import type { Tool } from './support.ts';

/** A client that a generator writes, and what it takes to try it. */
export interface Sdk {
  generator: string;
  needs: Tool[];
  /** It is among those that take less than 3 minutes together: `npm run test:sdks:quick`. */
  isQuick?: boolean;
  /** Generates the client, compiles it with the cycle that it goes through, and tells how the cycle is run. */
  build(): Promise<Program>;
}

export interface Program {
  command: string;
  args?: string[];
  env?: Record<string, string>;
}

export const SDKS: Sdk[] = [...otherGenerators, ...openApiGenerator];
