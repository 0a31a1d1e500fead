export function namedUrl(databaseUrl: string, name: string): string;
export function watchLooks(
  databaseUrl: string,
  looked?: (name: string | undefined, inMs: number | undefined) => void,
): Promise<{ last(): string | undefined; close(): Promise<void> }>;
