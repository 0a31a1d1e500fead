// Runs inside the replica: says how long its event loop stood still since it was last asked.
const EVERY_MS = 5;

let maxMs = 0;
let at = performance.now();
let cpu = process.cpuUsage();

// A process that waits for a processor stands still too, but not by itself: only as much time counts as it was at work.
const timer = setInterval(() => {
  const now = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  maxMs = Math.max(maxMs, Math.min(now - at, (user + system) / 1000) - EVERY_MS);
  at = now;
  cpu = process.cpuUsage();
}, EVERY_MS);
timer.unref();

process.on('message', () => {
  process.send({ maxMs: Math.max(0, maxMs) });
  maxMs = 0;
});
// The channel must not keep the process alive when it is told to stop.
process.channel?.unref();
