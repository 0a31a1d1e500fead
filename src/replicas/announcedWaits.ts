import { createLastNamed } from './lastNamed.ts';
import { INTEREST_MS, type Send } from './notifications.ts';

/** How often a `wait` is sent again. */
const RENEW_MS = 20_000;
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

  function announce(queue: string): void {
    const isKnown = announced.isWithin(INTEREST_MS, queue);
    announced.name(queue);
    const sent = send('wait', queue);
    if (!isKnown) void sent.then(() => lookAgain(queue));
  }

  return {
    /**
     * Claims wait here for these queues. Call it again while they do, about once a second. As soon as one of them is
     * due, all are announced together: in one transaction.
     */
    waiting(queues: string[]): void {
      if (queues.some((queue) => !announced.isWithin(RENEW_MS, queue)))
        for (const queue of queues) announce(queue);
    },

    /** Another replica does not know them: each `wait` is sent again within a second. */
    forget: (): void => announced.clear(),
  };
}
