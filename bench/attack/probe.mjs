// Runs inside the replica: says how long its event loop stood still since it was last asked.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on('message', () => {
  process.send({ maxMs: Math.max(0, delay.max / 1e6 - RESOLUTION_MS), memory: process.memoryUsage() });
  delay.reset();
});
// The channel must not keep the process alive when it is told to stop.
process.channel?.unref();
