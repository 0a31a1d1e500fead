import { spawnSync } from 'node:child_process';

const has = (tool: string) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error === undefined;

const TOOLS = { bash: ['bash', 'jq', 'sha256sum'], python: ['python3'], node: [] };

/** The kinds of workers that this machine can run. It prints the others, and why. */
export const runnableKinds = Object.entries(TOOLS).flatMap(([kind, tools]) => {
  const missing = tools.filter((tool) => !has(tool));
  if (missing.length > 0)
    console.warn(
      `Skipping the ${kind} worker of the examples, because this machine lacks ${missing.join(' and ')}`,
    );
  return missing.length > 0 ? [] : [kind];
});

interface Worker {
  ended: Promise<{ code: number | null; signal: string | null }>;
  stop(): void;
  signal(signal: NodeJS.Signals): void;
}

const crew = await import(new URL('../../examples/checksums/crew.mjs', import.meta.url).href);

/** Starts a worker of the checksums example, as a process. */
export const startWorker = (kind: string, env: Record<string, string>): Worker => crew.startWorker(kind, env);
