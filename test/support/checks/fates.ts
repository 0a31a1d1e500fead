import { type Lease, TOLERANCE_MS } from '../history.ts';
import { type Intent, type Life, mayHaveComeBack, mayHaveDied, type Sweeps } from '../life.ts';

const mayBeAcked = (leases: Lease[]) =>
  leases.some(({ settled }) => settled?.verb === 'ack' && settled.outcome !== 'refused');

const mayBeCancelled = ({ cancels }: Life) =>
  cancels.some(({ status }) => status === undefined || status === 200 || status === 202);

/** An intent that was answered has one job. An intent that was refused has none. `mayComeAgain`: it may have more than one. */
export function intentViolations(
  intents: Intent[],
  mayComeAgain: (intent: Intent) => boolean = () => false,
): string[] {
  return intents.flatMap((intent) => {
    const { spec, outcome, jobs, replaced } = intent;
    const what = `job ${[...jobs].join(' and ')} of ${spec.queue}, tag ${spec.payload.tag}`;
    if (jobs.size > 1 && !mayComeAgain(intent)) return [`${what}: enqueued once, found more often`];
    // The job that it replaced may have been seen for the first time after that, with its payload.
    if (jobs.size > 0 && (outcome === 'refused' || (outcome === 'deduplicated' && !replaced)))
      return [`${what}: found, though the answer was ${outcome}`];
    return [];
  });
}

/** No job is claimed after its expiry. */
export function expiryViolations(lives: Life[], sweeps: Sweeps): string[] {
  return lives.flatMap((life) => {
    const { expires_in_seconds: seconds } = life.intent.spec;
    if (seconds === undefined || mayHaveComeBack(life, sweeps)) return [];
    const end = life.created + seconds * 1000;
    return life.leases.some((lease) => lease.start > end + TOLERANCE_MS)
      ? [`job ${life.id} was leased after it had expired`]
      : [];
  });
}

/**
 * Each job is finished because a call, a lease or its expiry finished it. `keeps` says whether a queue keeps finished jobs,
 * `hasMoved` whether a job may have become another one.
 */
export function fateViolations(
  lives: Life[],
  keeps: (queue: string) => boolean,
  { purges }: Sweeps,
  hasMoved: (life: Life) => boolean = () => false,
): string[] {
  return lives.flatMap((life) => {
    const { found, leases, intent } = life;
    const { queue } = intent.spec;
    const purged = purges.some((purge) => purge.queue === queue && purge.answered >= intent.sent);
    const acked = mayBeAcked(leases);
    const cancelled = mayBeCancelled(life) || hasMoved(life);
    const wrong = (what: string) => [`job ${life.id} of ${queue} ${what}`];
    if (!found) {
      if (purged) return [];
      if (keeps(queue)) return wrong('is lost: it is not kept');
      return acked || cancelled ? [] : wrong('is lost: it is gone, and no ack was answered');
    }
    if (found.state === 'completed') return acked ? [] : wrong('is completed, and no ack was answered');
    if (found.state === 'cancelled') return cancelled ? [] : wrong('is cancelled, and no cancel was sent');
    if (leases.some(({ settled }) => settled?.verb === 'ack' && settled.outcome === 'done'))
      return wrong(`is ${found.state} after its ack`);
    if (found.state === 'dead')
      return mayHaveDied(life) ? [] : wrong(`is dead of "${found.last_error}" too early`);
    return wrong(`is stuck: ${found.state}`);
  });
}
