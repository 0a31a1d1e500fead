import { batchViolations, type MadeBatch } from '../checks/batches.ts';
import { deadLetterViolations, movedLives } from '../checks/deadLetters.ts';
import { expiryViolations, fateViolations, intentViolations } from '../checks/fates.ts';
import { groupViolations } from '../checks/groups.ts';
import { limitViolations } from '../checks/limits.ts';
import { replaceViolations } from '../checks/replaced.ts';
import { uniqueViolations } from '../checks/unique.ts';
import { type Lease, type Outcome, recordHistory } from '../history.ts';
import type { Intent, Life, Spec, Sweeps } from '../life.ts';
import { atOnceIn, deadLettersOf, QUEUES, SENT_HOME } from './queues.ts';
import { keyless, lasting } from './specs.ts';

/** A job as any answer shows it. */
export interface Shown {
  id: string;
  queue?: string;
  state: string;
  created_at: string;
  finished_at: string | null;
  deliveries: number;
  max_attempts: number;
  attempt: number;
  last_error: string | null;
  payload?: { tag: number };
  deduplicated?: boolean;
  replaced?: boolean;
}

export interface ShownLease extends Shown {
  lease_token: string;
  lease_expires_at: string;
}

const NEVER = Number.POSITIVE_INFINITY;

/** Records what all actors of the mixed workload saw. */
export function createRecord() {
  const history = recordHistory();
  const intents = new Map<number, Intent>();
  const letters = new Map<number, Intent>();
  const lives = new Map<string, Life>();
  const leases = new Map<string, Lease>();
  const batches: MadeBatch[] = [];
  const sweeps: Sweeps = { redrives: [], purges: [], homes: [] };
  const tally = new Map<string, number>();
  const problems: string[] = [];
  let requests = 0;

  function intentOf({ queue, payload }: Shown): Intent | undefined {
    const intent = intents.get(payload?.tag as number);
    const isLetter = intent && queue !== intent.spec.queue && queue === deadLettersOf(intent.spec.queue);
    return isLetter ? letterOf(intent, queue as string) : intent;
  }

  /** A dead letter is a job that nobody sent: without a key or an expiry, and in no batch. */
  function letterOf(home: Intent, queue: string): Intent {
    const known = letters.get(home.spec.payload.tag);
    if (known) return known;
    const { batch: _, delay_seconds: __, ...spec } = keyless(lasting({ ...home.spec, queue }));
    const letter: Intent = {
      ...home,
      spec,
      request: ++requests,
      index: 0,
      outcome: 'unknown',
      jobs: new Set(),
    };
    letter.answered = NEVER;
    letters.set(spec.payload.tag, letter);
    tally.set('dead letters', letters.size);
    return letter;
  }

  function seen(job: Shown, intent = intentOf(job)): Life {
    const known = lives.get(job.id);
    if (known) return known;
    if (!intent) throw new Error(`No actor enqueued job ${job.id}`);
    const created = Date.parse(job.created_at);
    const life: Life = { id: job.id, intent, created, leases: [], cancels: [], retried: NEVER };
    intent.jobs.add(job.id);
    lives.set(job.id, life);
    return life;
  }

  return {
    lives,
    batches,
    sweeps,
    /** Wrong answers, found by the actors. */
    problems,
    tally,

    count(what: string, by = 1): void {
      tally.set(what, (tally.get(what) ?? 0) + by);
    },

    /** One request is about to send these jobs. */
    wanted(specs: Spec[]): Intent[] {
      const request = ++requests;
      const sent = Date.now();
      return specs.map((spec, index) => {
        const intent: Intent = {
          spec,
          request,
          index,
          sent,
          outcome: 'unknown',
          answered: NEVER,
          jobs: new Set(),
        };
        intents.set(spec.payload.tag, intent);
        return intent;
      });
    },

    /** The request was answered with these jobs, or refused. */
    answered(wanted: Intent[], jobs: Shown[] | 'refused'): void {
      const answered = Date.now();
      for (const [i, intent] of wanted.entries()) {
        const job = jobs === 'refused' ? undefined : (jobs[i] as Shown);
        intent.answered = answered;
        if (job?.deduplicated) this.count('deduplicated');
        intent.outcome = !job ? 'refused' : job.deduplicated ? 'deduplicated' : 'done';
        if (job?.deduplicated) Object.assign(intent, { named: job.id, replaced: job.replaced === true });
        else if (job) {
          seen(job, intent);
          intent.isScheduled = job.state === 'scheduled';
        }
        if (job?.replaced) this.count('replaced');
      }
    },

    /** A claim was answered this job. Undefined for a lease that was answered before. */
    leased(job: ShownLease, leaseSeconds: number): Lease | undefined {
      if (leases.has(job.lease_token)) return undefined;
      const life = seen(job);
      const lease = history.leased(job, leaseSeconds, Date.now());
      lease.tag = job.payload?.tag;
      leases.set(job.lease_token, lease);
      life.leases.push(lease);
      if (job.attempt > job.max_attempts)
        problems.push(`job ${job.id} was claimed as attempt ${job.attempt} of ${job.max_attempts}`);
      return lease;
    },

    extended: history.extended,

    settled(lease: Lease, verb: 'ack' | 'nack' | 'release', sent: number, outcome: Outcome, kills = false) {
      const answered = Date.now();
      history.settled(lease, verb, sent, outcome, answered);
      const life = lives.get(lease.job) as Life;
      if (kills && outcome !== 'refused' && !life.killed)
        life.killed = { sent, answered: outcome === 'done' ? answered : NEVER };
    },

    found(job: Shown): void {
      seen(job).found = {
        state: job.state,
        finished: job.finished_at === null ? Number.NEGATIVE_INFINITY : Date.parse(job.finished_at),
        deliveries: job.deliveries,
        last_error: job.last_error,
      };
    },

    /** Every violation, in words. */
    violations(): string[] {
      const all = [...lives.values()];
      const moved = movedLives(all, deadLettersOf);
      const sent = [...intents.values(), ...letters.values()];
      const isSentHome = ({ spec }: Intent) => [spec.queue, deadLettersOf(spec.queue)].includes(SENT_HOME);
      const still = all.filter(({ found }) => found && found.state !== 'completed').map(({ id }) => id);
      return [
        ...problems,
        ...history.violations(new Set(still)),
        ...intentViolations(sent, isSentHome),
        ...fateViolations(
          all,
          (queue) => (QUEUES[queue]?.retention_seconds ?? 0) > 0,
          sweeps,
          (life) => moved.has(life),
        ),
        ...deadLetterViolations(all, sweeps, deadLettersOf),
        ...replaceViolations(all, [...intents.values()]),
        ...groupViolations(all, sweeps, atOnceIn),
        ...uniqueViolations(all, [...intents.values()], sweeps),
        ...limitViolations(all, QUEUES),
        ...expiryViolations(all, sweeps),
        ...batchViolations(batches, [...intents.values()]),
      ];
    },
  };
}

export type Record = ReturnType<typeof createRecord>;
