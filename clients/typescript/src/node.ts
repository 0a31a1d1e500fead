/* What is used of Node, so that its types are not needed. Bun and Deno have most of it. */
interface NodeProcess {
  pid: number;
  env: Record<string, string | undefined>;
  on(signal: string, heard: () => void): void;
  off(signal: string, heard: () => void): void;
  getBuiltinModule(name: string): unknown;
}

/** That of this program. A browser has none. */
export const nodeProcess = (): Partial<NodeProcess> =>
  (globalThis as { process?: Partial<NodeProcess> }).process ?? {};

/** A module of Node, where it is there. */
export const builtin = <T>(name: string): T | undefined =>
  nodeProcess().getBuiltinModule?.(name) as T | undefined;

/** Which worker it is, for people who look at a job: `mailer-7d9f:4711`. */
export function ownName(): string | undefined {
  const host = builtin<{ hostname(): string }>('node:os')?.hostname();
  const { pid } = nodeProcess();
  return host && pid ? `${host.slice(0, 200)}:${pid}` : undefined;
}
