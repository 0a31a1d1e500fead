const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/**
 * The longest time in ms that one pass of the event loop takes while `work` runs. Time in which this process waits for a
 * processor does not count.
 */
export async function standstillOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let at = performance.now();
  let cpu = cpuMs();
  const look = () => {
    longest = Math.max(longest, Math.min(performance.now() - at, cpuMs() - cpu));
    at = performance.now();
    cpu = cpuMs();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return longest;
}
