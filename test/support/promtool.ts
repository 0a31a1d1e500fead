import { spawnSync } from 'node:child_process';

/** Whether Prometheus' own checker is installed. */
export const hasPromtool = spawnSync('promtool', ['--version'], { stdio: 'ignore' }).status === 0;
