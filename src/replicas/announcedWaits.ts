import { createLastNamed } from './lastNamed.ts';
import { INTEREST_MS, type Send } from './notifications.ts';

/** How often a `wait` is sent again. */
const RENEW_MS = 10_000;
/** How long a `wait` may take to reach the other replicas. */
const HEARD_MS = 50;

/** Tells the other replicas for which queues claims wait here. */
export function createAnnouncedWaits(send: Send, unnoticed: (queue: string) => void) {
  /** Queues for which a `wait` was sent. */
  const announced = createLastNamed();

  /** A job that came before the others heard of the `wait` was not notified. One look finds it. */
  function lookAgain(queue: string): void {
    setTimeout(unnoticed, HEARD_MS, queue).unref();
  }

  return {
    /** A claim waits here for a queue. */
    waiting(queue: string): void {
      if (announced.isWithin(RENEW_MS, queue)) return;
      const isKnown = announced.isWithin(INTEREST_MS, queue);
      announced.name(queue);
      const sent = send('wait', queue);
      if (!isKnown) void sent.then(() => lookAgain(queue));
    },

    /** Another replica does not know them: each `wait` is sent again when its claim looks again. */
    forget: (): void => announced.clear(),
  };
}
