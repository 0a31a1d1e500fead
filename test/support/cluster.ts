import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { inject } from 'vitest';

/** Copies a DATA_DIR whose PostgreSQL does not run. Its files keep their owner, which Node's own copy would not do. */
export function copyCluster(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  execFileSync('cp', ['-a', `${from}/.`, to]);
}

/**
 * Fills a DATA_DIR with a PostgreSQL that never ran. Its first start takes 0.2 s. Creating one takes seconds, so that only
 * the tests of the creation do that.
 */
export const fillDataDir = (dataDir: string): void => copyCluster(inject('madeDataDir'), dataDir);
