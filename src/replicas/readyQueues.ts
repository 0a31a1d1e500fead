import { createLastNamed } from './lastNamed.ts';
import { INTEREST_MS, type Send } from './notifications.ts';

/** NOTIFY takes a lock over the whole database at commit. So each queue gets at most one `ready` in this time. */
const QUIET_MS = 50;

/** Tells the other replicas which queues have a ready job, while claims may wait for it there. */
export function createReadyQueues(send: Send) {
  /** Queues for which another replica sent a `wait`, or may be about to. */
  const interest = createLastNamed();
  /** Queues for which this replica just sent a `ready`, and whether to send another at the end of their time. */
  const quiet = new Map<string, { again: boolean; end: NodeJS.Timeout }>();

  function sendReady(queue: string): void {
    const sent = quiet.get(queue);
    if (sent) {
      sent.again = true;
      return;
    }
    void send('ready', queue);
    const end = setTimeout(() => {
      const isAgain = quiet.get(queue)?.again;
      quiet.delete(queue);
      if (isAgain) sendReady(queue);
    }, QUIET_MS).unref();
    quiet.set(queue, { again: false, end });
  }

  return {
    /** Another replica sent a `wait`. */
    awaited: interest.name,

    ready(queue: string): void {
      if (interest.isWithin(INTEREST_MS, queue)) sendReady(queue);
    },

    /** A queue may be new. Nobody has told us yet whether claims wait for it. */
    opened(queue: string): void {
      interest.name(queue);
      void send('ready', queue);
    },

    /** Sends what is still to be sent. */
    stop(): void {
      for (const [queue, { again, end }] of quiet) {
        clearTimeout(end);
        if (again) void send('ready', queue);
      }
      quiet.clear();
    },
  };
}
