import { setTimeout as sleep } from 'node:timers/promises';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import type { WayOfJobs } from './onItsWay.ts';

/** A client that waits for a job looks again whether it has arrived: soon, then so often. */
const FIRST_LOOK_MS = 5;
const LOOK_MS = 200;
/** All of them together look so often, for each look asks every database. But each one looks once in LONGEST_PAUSE_MS. */
const MOST_LOOKS_A_SECOND = 250;
const LONGEST_PAUSE_MS = 2000;

/** Looks at one job. One that has not arrived yet in its database is told by the relay of another one. */
export function relayedLooks(
  { lookOrFind, whither }: WayOfJobs,
  { home, toJob }: Lead,
): Pick<Verbs, 'getJob' | 'explainJob' | 'getJobHistory' | 'waitForJob'> {
  /** How many clients wait for jobs that have not arrived. */
  let waiting = 0;

  async function pause(pauseMs: number, leftMs: number, signal: AbortSignal): Promise<void> {
    waiting++;
    const inTurnMs = Math.min(LONGEST_PAUSE_MS, (1000 * waiting) / MOST_LOOKS_A_SECOND);
    await sleep(Math.min(Math.max(pauseMs, inTurnMs), leftMs), undefined, { signal }).catch(() => undefined);
    waiting--;
  }

  return {
    async getJob(request) {
      const looked = await lookOrFind(request.id, () =>
        toJob(request.id, ({ verbs }) => verbs.getJob(request)),
      );
      return 'found' in looked ? looked.found : looked.job;
    },

    async explainJob(request) {
      const { id } = request;
      const looked = await lookOrFind(id, () => toJob(id, ({ verbs }) => verbs.explainJob(request)));
      if ('found' in looked) return looked.found;
      const detail = `It is on its way to ${await whither(id)}.`;
      return { id, state: looked.job.state, code: 'delayed', detail };
    },

    async getJobHistory(request) {
      const { id } = request;
      const looked = await lookOrFind(id, () => toJob(id, ({ verbs }) => verbs.getJobHistory(request)));
      if ('found' in looked) return looked.found;
      const { queue, created_at: at } = looked.job;
      return { id, queue, events: [{ at, event: 'enqueued' }], truncated: false };
    },

    async waitForJob(request) {
      const { id, wait_seconds, onHangup } = request;
      const until = performance.now() + wait_seconds * 1000;
      const gone = new AbortController();
      onHangup?.(() => gone.abort());
      for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(LOOK_MS, 2 * pauseMs)) {
        const left = () => Math.max(0, until - performance.now());
        const looked = await lookOrFind(id, () =>
          toJob(id, ({ verbs }) => verbs.waitForJob({ ...request, wait_seconds: left() / 1000 })),
        );
        if ('found' in looked) return looked.found;
        const leftMs = left();
        if (leftMs === 0 || gone.signal.aborted || home.rooms.waits.closed()) return looked.job;
        // It arrives as one that somebody waits for. So it is kept when it finishes.
        const isNoted = pauseMs > FIRST_LOOK_MS || (await looked.relay.awaited(id, leftMs / 1000));
        if (isNoted) await pause(pauseMs, leftMs, gone.signal);
      }
    },
  };
}
