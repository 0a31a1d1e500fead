import { rowsOf } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import { FAR_ABOVE, type Finding, lasting, ok, problem, warning } from './finding.ts';
import type { Patient } from './patient.ts';

const statements = { commit: planned('doctor/commit'), clock: planned('doctor/clock') };

const COMMITS = 10;
const LOOKS = 5;

const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number;

/** How long a commit takes, from here and back. */
export async function checkCommits({ client, thresholds }: Patient): Promise<Finding[]> {
  const times: number[] = [];
  for (let i = 0; i < COMMITS; i++) {
    const started = performance.now();
    await rowsOf(client, statements.commit);
    times.push(performance.now() - started);
  }
  const typical = median(times);
  const found = `A commit takes ${typical.toFixed(1)} ms, the slowest of ${COMMITS} took ${Math.max(...times).toFixed(1)} ms.`;
  if (typical < thresholds.commitMs) return [ok('commit_latency', found)];
  return [
    (typical >= FAR_ABOVE * thresholds.commitMs ? problem : warning)(
      'commit_latency',
      found,
      'Every enqueue, claim and ack waits for a commit.',
      'Look at the disk of the WAL, at synchronous standbys, and at the network in between.',
    ),
  ];
}

/** How far the clock of this machine is from the database's. The look with the shortest way tells it best. */
export async function checkClock({ client, thresholds }: Patient): Promise<Finding[]> {
  let best = { off: 0, way: Number.POSITIVE_INFINITY };
  for (let i = 0; i < LOOKS; i++) {
    const sent = performance.now();
    const [row] = await rowsOf(client, statements.clock);
    const way = performance.now() - sent;
    const here = performance.timeOrigin + sent + way / 2;
    if (way < best.way) best = { off: (row?.milliseconds ?? 0) - here, way };
  }
  const { off, way } = best;
  const amount = Math.abs(off) < 1000 ? `${Math.abs(off).toFixed(0)} ms` : lasting(Math.abs(off) / 1000);
  const found = `The database's clock is ${amount} ${off < 0 ? 'behind' : 'ahead of'} the one here, give or take ${(way / 2).toFixed(1)} ms.`;
  if (Math.abs(off) < thresholds.clockMs) return [ok('clock', found)];
  return [
    warning(
      'clock',
      found,
      'Jobs keep the time of the database. Tokens (JWT) are checked by the clock of each replica.',
      'Synchronize both machines with NTP.',
    ),
  ];
}
