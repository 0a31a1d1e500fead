export function near(
  changed: string[],
  texts: { tests: Map<string, string>; sources: Map<string, string>; sql: Map<string, string> },
): string[];
