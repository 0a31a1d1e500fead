import { randomBytes } from 'node:crypto';
import { gathering } from '../postgres/gathering.ts';
import type { OutageLog } from '../postgres/outageLog.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { createListener } from './listener.ts';

/*
 * What replicas tell each other, by NOTIFY on one channel. A notification is a verb, its sender, and what it is about:
 *
 *   wait <sender> <queue>              A claim waits for this queue with the sender, from now on for INTEREST_MS.
 *   ready <sender> <queue>             The queue has a ready job. A replica sends it only while a claim waits on another, and
 *                                      for each new queue: claims may wait for a queue that does not exist yet.
 *   blocked <sender> <queue> [<group>] Jobs came into the group, or into some group, and nobody advanced it. SQL sends it.
 *   done <sender> <id>,<id>,...        These jobs are finished, and clients may wait for them.
 *   hello <sender>                     The sender has begun to listen. The others tell it again where claims wait.
 *   replaced <sender> <mark>,<request> The claim was repeated with the sender, and this request may not wait any longer.
 *   keys <sender>                      Access keys have changed. SQL sends it, with the change.
 *   active <sender>                    The sender does something. `due sql`: SQL has enqueued a job that becomes due.
 *   looked <sender> [<ms>]             The sender has looked for what is due (src/maintenance/rest.ts): the next thing in so many ms.
 *                                      SQL sends it, with the look.
 *
 * A lost notification costs latency, never a job: claims and clients that wait also look by themselves, now and then.
 */

const notify = planned('replicas/notify');

/** How long a `wait` holds, and how often it is sent again. */
const INTEREST_MS = 45_000;
const RENEW_MS = 10_000;
/** NOTIFY takes a lock over the whole database at commit. So each queue gets at most one `ready` in this time. */
const QUIET_MS = 50;
/** How long a `wait` may take to reach the other replicas. */
const HEARD_MS = 50;
/** So many notifications go in one transaction. */
const MOST_TOGETHER = 500;
/** A notification has less than 8000 bytes. */
const MOST_IDS = 200;

/** When a queue was last named. The queues named least recently come first. */
type Times = Map<string, number>;

function note(times: Times, queue: string): void {
  const now = performance.now();
  times.delete(queue);
  times.set(queue, now);
  for (const [oldest, at] of times) {
    if (at > now - INTEREST_MS) return;
    times.delete(oldest);
  }
}

/** What the notifier calls. */
export interface NotifierListeners {
  /**
   * This replica made something ready in a queue, in this round trip (src/batching/roundTrip.ts) or outside of any.
   */
  here(queue: string, roundTrip: number | undefined): void;
  /** This replica sends something to the database that may become ready in the queue's next round trip. */
  coming(queue: string): void;
  /** Another replica, or SQL, made something ready in a queue. */
  elsewhere(queue: string): void;
  /** A queue may have something ready that nobody notified us of. */
  unnoticed(queue: string): void;
  /** Another replica finished jobs that clients may wait for. */
  finished(ids: string[]): void;
  /** Jobs came into this group of a queue, or into a group that is not named, and nobody advanced it. */
  blocked(queue: string, group: string | undefined): void;
  /** Another replica has a newer request of this claim. */
  replaced(mark: string, request: string): void;
  /** Access keys have changed. */
  keysChanged(): void;
  /** Notifications may be lost: any queue may have something ready. */
  anywhere(): void;
  /** Another replica, or SQL, does something. */
  active(): void;
  /** Another replica has looked for what is due. The next thing is, if there is one, in so many milliseconds. */
  looked(inMs: number | undefined): void;
}

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
  /** Queues for which another replica sent a `wait`, or may be about to. */
  const interest: Times = new Map();
  /** Queues for which this replica sent a `wait`. */
  const announced: Times = new Map();
  /** Queues for which this replica just sent a `ready`, and whether to send another at the end of their time. */
  const quiet = new Map<string, { again: boolean; end: NodeJS.Timeout }>();
  let isStopped = false;
  let listeners: NotifierListeners = {
    here: () => undefined,
    coming: () => undefined,
    elsewhere: () => undefined,
    unnoticed: () => undefined,
    finished: () => undefined,
    blocked: () => undefined,
    replaced: () => undefined,
    keysChanged: () => undefined,
    anywhere: () => undefined,
    active: () => undefined,
    looked: () => undefined,
  };

  const sendTogether = gathering(MOST_TOGETHER, (messages: string[]) => {
    listener.expectEcho();
    return db.query(notify, { messages }).catch((error: Error) => {
      listener.forgetEcho();
      log(error, 'notifications were not sent');
      return [];
    });
  });
  /** They are sent in order: when this one is sent, all are. */
  let last: Promise<unknown> = Promise.resolve();

  function send(
    verb: 'wait' | 'ready' | 'hello' | 'done' | 'replaced' | 'active',
    about = '',
  ): Promise<unknown> {
    if (!isStopped) last = sendTogether(`${verb} ${self} ${about}`);
    return last;
  }

  /** Another replica did not notify us of a job that came before it knew that a claim waits here. One look finds it. */
  function lookAgain(queue: string): void {
    setTimeout(() => listeners.unnoticed(queue), HEARD_MS).unref();
  }

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

  function receive(notification: string | undefined): void {
    const [verb = '', sender = '', about = '', ...rest] = (notification ?? '').split(' ');
    if (sender === self) {
      listener.echoed();
      return;
    }
    if (sender === 'sql' || verb === 'hello' || verb === 'active') listeners.active();
    if (verb === 'ready') listeners.elsewhere(about);
    // The name of a group may have spaces.
    else if (verb === 'blocked') listeners.blocked(about, rest.join(' ') || undefined);
    else if (verb === 'wait') note(interest, about);
    else if (verb === 'done') listeners.finished(about.split(','));
    else if (verb === 'hello') announced.clear();
    else if (verb === 'looked') listeners.looked(about === '' ? undefined : Number(about));
    else if (verb === 'keys') listeners.keysChanged();
    else if (verb === 'replaced') {
      const [mark = '', request = ''] = about.split(',');
      listeners.replaced(mark, request);
    }
  }

  const listener = createListener({
    url,
    heard: receive,
    state,
    listening() {
      void send('hello');
      announced.clear();
      listeners.anywhere();
    },
  });

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
    coming: (queue: string): void => listeners.coming(queue),

    /** A queue has something ready, in a transaction that has committed. */
    ready(queue: string, roundTrip?: number): void {
      listeners.here(queue, roundTrip);
      const at = interest.get(queue) ?? Number.NEGATIVE_INFINITY;
      if (at > performance.now() - INTEREST_MS) sendReady(queue);
    },

    /** A queue may be new. Nobody has told us yet whether claims wait for it. */
    opened(queue: string): void {
      note(interest, queue);
      void send('ready', queue);
    },

    /** Tells the other replicas that jobs are finished that clients may wait for. */
    finished(ids: string[]): void {
      for (let at = 0; at < ids.length; at += MOST_IDS)
        void send('done', ids.slice(at, at + MOST_IDS).join());
    },

    /** Tells the other replicas that this request of a claim waits in vain. */
    replaced: (mark: string, request: string): void => void send('replaced', `${mark},${request}`),

    /** A claim waits here for a queue. */
    waiting(queue: string): void {
      const now = performance.now();
      const last = announced.get(queue) ?? Number.NEGATIVE_INFINITY;
      if (last > now - RENEW_MS) return;
      note(announced, queue);
      const sent = send('wait', queue);
      if (last < now - INTEREST_MS) void sent.then(() => lookAgain(queue));
    },

    /** Sends what is still to be sent. Nothing is sent after that. */
    async stop(): Promise<void> {
      for (const [queue, { again, end }] of quiet) {
        clearTimeout(end);
        if (again) void send('ready', queue);
      }
      quiet.clear();
      isStopped = true;
      await last;
      await listener.stop();
    },
  };
}

export type Notifier = ReturnType<typeof createNotifier>;
