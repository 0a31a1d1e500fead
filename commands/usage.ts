/** The command line says nothing that Dibs knows. The message says what it could say. */
export class UsageError extends Error {}
