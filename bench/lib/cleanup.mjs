const steps = [];
let running;

/** True once the end has begun. Errors from then on only say that things were stopped. */
export const isEnding = () => running !== undefined;

/** Runs `step` when the benchmark ends, however it ends. The last step runs first. */
export const atEnd = (step) => steps.push(step);

/** Runs all steps. A step that fails stops no other step. */
export function cleanUp() {
  running ??= (async () => {
    while (steps.length > 0)
      await Promise.resolve()
        .then(steps.pop())
        .catch((error) => process.stderr.write(`while cleaning up: ${error?.stack ?? error}\n`));
  })();
  return running;
}

/** Cleans up at a signal, and after `seconds`, so that no benchmark runs for ever. */
export function guard(seconds) {
  const leave = (why, code) => {
    process.stderr.write(`${why}: cleaning up\n`);
    cleanUp().finally(() => process.exit(code));
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => leave(signal, 130));
  setTimeout(() => leave(`not done within ${seconds} s`, 124), seconds * 1000).unref();
}
