import { setTimeout as sleep } from 'node:timers/promises';
import { HeldUp, isOutage, QueueGone, Refusal } from '../../errors.ts';
import { isLockTimeout } from '../../postgres/errorClasses.ts';
import { causeOf } from '../../postgres/outageLog.ts';
import { comeBack, returnsFrom } from './back.ts';
import type { Between, Context } from './context.ts';
import { NotWanted, type Record, type Relocation } from './record.ts';
import { clean, count, leaveAndCopy, switchOver } from './there.ts';

/** What failed is tried again after this time. */
const AGAIN_MS = 500;
/**
 * A relocation that cannot begin for so long fails. A queue that cannot leave, or be copied, for so long comes back. What cannot give up
 * any more makes room for others, and goes on later.
 */
const GIVE_UP_MS = 10_000;
const TELL_MS = 1000;

const steps = {
  counting: count,
  leaving: leaveAndCopy,
  arriving: switchOver,
  cleaning: clean,
  returning: comeBack,
};

/** Whether the same step may succeed later. */
const mayPass = (error: unknown): boolean => isOutage(error) || isLockTimeout(error);

function whyOf(error: unknown): string {
  if (error instanceof QueueGone) return 'The queue was deleted.';
  if (isLockTimeout(error) || error instanceof HeldUp) return 'A transaction holds the queue.';
  if (error instanceof Refusal) return error.message;
  return causeOf((error as Error).cause ?? error);
}

/** Works on a relocation until it has ended, another replica works on it, or `stopping` is aborted. */
export async function workOn(
  relocation: Relocation,
  between: Between,
  how: { record: Record; stopping: AbortSignal; log(error: unknown, message: string): void },
): Promise<void> {
  const { record, stopping, log } = how;
  const asked = new AbortController();
  const lost = new AbortController();
  let done = 0;
  const context: Context = {
    ...{ ...between, record, relocation },
    stop: AbortSignal.any([asked.signal, lost.signal, stopping]),
    copied(jobs) {
      done += jobs;
    },
  };

  async function tell(): Promise<void> {
    if (!(await record.goOn(relocation, done))) return;
    relocation.is_stopped = true;
    asked.abort();
  }
  const telling = setInterval(
    () =>
      void tell().catch((error) => {
        if (error instanceof NotWanted) lost.abort(error);
      }),
    TELL_MS,
  );

  /** It ends where calls do not wait yet, and comes back where they do. Later, it is too late. */
  async function giveUp(error?: string): Promise<void> {
    const { phase } = relocation;
    if (phase === 'leaving') await record.next(relocation, 'returning', { error });
    if (phase !== 'counting' || (await returnsFrom(context, error))) return;
    await record.ended(relocation, error === undefined ? 'cancelled' : 'failed', error);
  }

  async function step(): Promise<void> {
    lost.signal.throwIfAborted();
    const { phase } = relocation;
    if (relocation.is_stopped && (phase === 'counting' || phase === 'leaving')) return giveUp();
    if (phase === 'ended') return;
    if (phase === 'leaving') done = 0;
    await steps[phase](context);
  }

  let failsSince: number | undefined;
  /** Returns whether this replica goes on. */
  async function afterFailure(error: unknown): Promise<boolean> {
    if (stopping.aborted || lost.signal.aborted || error instanceof NotWanted) return false;
    if (asked.signal.aborted && relocation.phase === 'leaving') return true;
    const passes = mayPass(error);
    const mayGiveUp = relocation.phase === 'counting' || relocation.phase === 'leaving';
    failsSince ??= performance.now();
    const isLong = performance.now() - failsSince > GIVE_UP_MS;
    if (!passes || isLong) await giveUp(whyOf(error));
    if (isLong && !mayGiveUp) return false;
    if (!passes && !(error instanceof Refusal))
      log(error, `the relocation of the queue ${relocation.queue} met an error`);
    await sleep(AGAIN_MS, undefined, { signal: stopping }).catch(() => undefined);
    return true;
  }

  try {
    for (let goesOn = true; goesOn && relocation.phase !== 'ended'; )
      try {
        await step();
        failsSince = undefined;
      } catch (error) {
        goesOn = await afterFailure(error);
      }
    // One that home has forgotten had to wait for the end of this one. Or it was this one, and ended too early.
    if (relocation.phase === 'ended')
      for (const engine of [between.source, between.target]) await record.reopen(engine);
  } catch (error) {
    if (!(error instanceof NotWanted)) throw error;
  } finally {
    clearInterval(telling);
    await record.leave(relocation).catch(() => undefined);
  }
}
