export function statementNames(): string[];
export function statementTypes(
  url: string,
  load: (name: never) => { text: string; parameters: string[] },
): Promise<string>;
