const steps = [];
let running;

/** Whether the end has begun: what fails from now on fails because of that. */
export const isEnding = () => running !== undefined;

/** Has `step` run when the benchmark ends, however it ends; last come, first served. */
export const atEnd = (step) => steps.push(step);

/** Undoes everything, each step on its own. */
export function cleanUp() {
  running ??= (async () => {
    while (steps.length > 0)
      await Promise.resolve()
        .then(steps.pop())
        .catch((error) => process.stderr.write(`while cleaning up: ${error?.stack ?? error}\n`));
  })();
  return running;
}

/** Cleans up on signals, and when `seconds` are over: no benchmark runs for ever. */
export function guard(seconds) {
  const leave = (why, code) => {
    process.stderr.write(`${why}: cleaning up\n`);
    cleanUp().finally(() => process.exit(code));
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => leave(signal, 130));
  setTimeout(() => leave(`not done within ${seconds} s`, 124), seconds * 1000).unref();
}
