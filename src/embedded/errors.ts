/** Says why no PostgreSQL of our own can run here. The message is for the operator. */
export class EmbeddedError extends Error {
  override name = 'EmbeddedError';
}

export const instead = 'Set DATABASE_URL to use a PostgreSQL server of your own instead.';

export function inUse(dataDir: string, owner: string | undefined): EmbeddedError {
  const by = owner === undefined ? 'another Dibs' : `another Dibs (pid ${owner})`;
  return new EmbeddedError(
    `DATA_DIR ${dataDir} is in use by ${by}. Stop that one, choose another DATA_DIR, or let both share one PostgreSQL server by DATABASE_URL.`,
  );
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
