/** The command line says nothing that Dibs knows. The message says what it could say. */
export class UsageError extends Error {}

/** The system refused a file or a stream. */
export const isFileError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

/** What `parse` makes of the command line. `usage` stands below what is wrong with it. @throws UsageError */
export function parsed<T>(parse: () => T, usage = ''): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`${(error as Error).message}${usage}`);
  }
}
