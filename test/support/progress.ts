import type { Reporter, TestModule } from 'vitest/node';

/** A run that says nothing for this long says what it waits for. */
const QUIET_MS = 20_000;

const timeOf = (ms: number) => {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
};

/** Says how far a run of the tests is, where no terminal shows it: a line for each file, and one when all is quiet. */
export function progress(
  say: (line: string) => void = (line) => process.stdout.write(`${line}\n`),
): Reporter {
  const started = performance.now();
  const running = new Set<string>();
  let files = 0;
  let done = 0;
  let failed = 0;
  let timer: NodeJS.Timeout | undefined;

  function tell(what: string): void {
    clearTimeout(timer);
    const failures = failed > 0 ? `, ${failed} failed` : '';
    say(`[${timeOf(performance.now() - started)}] ${done} of ${files} files${failures}. ${what}`);
    timer = setTimeout(() => tell(`Running: ${[...running].join(', ')}`), QUIET_MS);
    timer.unref();
  }
  const nameOf = (module: TestModule) => module.relativeModuleId;

  return {
    onTestRunStart(specifications) {
      files = specifications.length;
    },
    onTestModuleStart(module) {
      running.add(nameOf(module));
    },
    onTestModuleEnd(module) {
      running.delete(nameOf(module));
      done++;
      if (!module.ok()) failed++;
      tell(`Ended: ${nameOf(module)}`);
    },
    onTestRunEnd() {
      clearTimeout(timer);
    },
  };
}
