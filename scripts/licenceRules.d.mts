export interface Lock {
  packages: Record<string, { version?: string; license?: string; dev?: boolean; os?: string[] }>;
}

export function problemsOf(lock: Lock, options?: { areTools?: boolean }): string[];
export function licencesOf(lock: Lock): { name: string; versions: Set<string>; licences: Set<string> }[];
export function tableOf(entries: { name: string; versions: Set<string>; licences: Set<string> }[]): string;
