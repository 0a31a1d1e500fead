/* What is used of Node, so that its types are not needed. Bun and Deno have most of it. */
interface NodeProcess {
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
