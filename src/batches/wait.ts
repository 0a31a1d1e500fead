import type { Ledger } from '../ledger.ts';
import { gathering } from '../postgres/gathering.ts';
import type { BatchName } from '../verbs/batches.ts';
import type { Waits } from '../verbs/callers.ts';
import { createOpenWaits } from '../waiting/openWaits.ts';
import { pollEnds } from '../waiting/poll.ts';
import { createWakes } from '../waiting/wakes.ts';
import type { KnownBatches } from './known.ts';

/** So many batches are looked at together. */
const TOGETHER = 200;

/** Lets requests wait for the end of batches. However many wait, they look together, and count no jobs. */
export function createBatchWaits(context: {
  knownBatches: KnownBatches;
  ledger: Ledger;
  rest: { isAwake(): boolean };
}) {
  const { knownBatches, ledger, rest } = context;
  const wakes = createWakes();
  const waits = createOpenWaits({ kind: 'batch_waits', wakes, ledger });
  const hasEnded = gathering(TOGETHER, knownBatches.haveEnded);

  async function look(): Promise<void> {
    const ids = wakes.ids();
    for (let at = 0; at < ids.length; at += TOGETHER) {
      const some = ids.slice(at, at + TOGETHER);
      const ended = await knownBatches.haveEnded(some);
      wakes.wake(some.filter((_, i) => ended[i]));
    }
  }
  const poll = pollEnds({ look, isAwake: rest.isAwake, failed: waits.fail });

  return {
    async wait(request: BatchName & Waits & { wait_seconds: number }): Promise<void> {
      if ((await knownBatches.one(request)).has_ended) return;
      await waits.hold(request, async (wait) => {
        while (!wait.isOver() && !(await hasEnded(request.id))) {
          await wait.woken();
          wait.throwIfFailed();
        }
      });
    },

    /** These jobs and batches have ended. */
    ended: wakes.wake,

    /** Notifications may have been lost: looks which of the batches have ended. */
    look: poll.look,

    close(): void {
      poll.stop();
      waits.close();
    },
  };
}
