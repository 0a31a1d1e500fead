import { randomBytes } from 'node:crypto';
import type { OutageLog } from '../postgres/outageLog.ts';
import type { Db } from '../postgres/pool.ts';
import { createAnnouncedWaits } from './announcedWaits.ts';
import { createListener } from './listener.ts';
import { type NotifierListeners, parse, tell } from './notifications.ts';
import { createOutbox } from './outbox.ts';
import { createReadyQueues } from './readyQueues.ts';

/** A notification has less than 8000 bytes. */
const MOST_IDS = 200;

/** Tells waiting claims, here and on other replicas, that a queue may have something ready for them. */
export function createNotifier(options: {
  db: Db;
  url: string;
  /** Hears when notifications are not heard any more, and when they are again. */
  state?: OutageLog | undefined;
  log: (error: unknown, message: string) => void;
}) {
  const { db, url, state, log } = options;
  const self = randomBytes(6).toString('hex');
  /** Nobody, before the start. */
  let listeners: NotifierListeners | undefined;

  function receive(notification: string | undefined): void {
    const heard = parse(notification);
    if (heard.sender === self) {
      listener.echoed();
      return;
    }
    if (heard.verb === 'wait') readyQueues.awaited(heard.about);
    if (heard.verb === 'hello') waits.forget();
    if (listeners) tell(listeners, heard);
  }

  const listener = createListener({
    url,
    heard: receive,
    state,
    listening() {
      void send('hello');
      waits.forget();
      listeners?.anywhere();
    },
  });
  const { send, close } = createOutbox({ db, self, listener, log });
  const waits = createAnnouncedWaits(send, (queue) => listeners?.unnoticed(queue));
  const readyQueues = createReadyQueues(send);

  return {
    /** The name of this replica in notifications. */
    self,

    /** Whether notifications arrive here, as far as those show that this replica has sent. */
    hears: listener.hears,

    /** Tells the other replicas that something is done here. */
    active: (): Promise<unknown> => send('active'),

    /** Runs a statement that sends a notification of this replica. */
    async sending<T>(work: () => Promise<T>): Promise<T> {
      listener.expectEcho();
      return work().catch((error) => {
        listener.forgetEcho();
        throw error;
      });
    },

    async start(to: NotifierListeners): Promise<void> {
      listeners = to;
      await listener.start();
    },

    /**
     * The next round trip of a queue may make something ready. A claim that waits here can go in the same round trip.
     */
    coming: (queue: string): void => listeners?.coming(queue),

    /** A queue has something ready, in a transaction that has committed. */
    ready(queue: string, roundTrip?: number): void {
      listeners?.here(queue, roundTrip);
      readyQueues.ready(queue);
    },

    opened: readyQueues.opened,

    /** Tells the other replicas that jobs are finished that clients may wait for. */
    finished(ids: string[]): void {
      for (let at = 0; at < ids.length; at += MOST_IDS)
        void send('done', ids.slice(at, at + MOST_IDS).join());
    },

    /** Tells the other replicas that this request of a claim waits in vain. */
    replaced: (mark: string, request: string): void => void send('replaced', `${mark},${request}`),

    /** Tells the other replicas that there are sessions. */
    sessions: (): void => void send('sessions'),

    waiting: waits.waiting,

    /** Sends what is still to be sent. Nothing is sent after that. */
    async stop(): Promise<void> {
      readyQueues.stop();
      await close();
      await listener.stop();
    },
  };
}

export type Notifier = ReturnType<typeof createNotifier>;
