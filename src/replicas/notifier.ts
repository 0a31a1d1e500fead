import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { connectionOptions, type Db, translate } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';

const notify = planned('replicas/notify');

/** How long one announcement of "somebody waits here" holds, and how often it is renewed. */
const INTEREST_MS = 15_000;
const RENEW_MS = 5_000;
/** NOTIFY takes a lock over the whole database at commit: at most one in this time for each queue. */
const QUIET_MS = 50;
/** How long an announcement may take to reach the other replicas. */
const HEARD_MS = 50;
const RECONNECT_MS = 500;
const MOST_ANNOUNCED = 10_000;
/** A message has less than 8000 bytes. */
const MOST_IDS = 200;

/** What replicas tell each other about claims that may be repeated. */
export type ClaimVerb = 'open' | 'take' | 'over';

/** Who is told that a queue may have something ready. */
export interface NotifierListeners {
  /** By this process; `round` is the one in which it came (src/rounds.ts). */
  here(queue: string, round: number | undefined): void;
  /** By this process, and the job goes to the database in the queue's next round. */
  coming(queue: string): void;
  /** By another one. */
  elsewhere(queue: string): void;
  /** Jobs that somebody may wait for were finished by another one. */
  finished(ids: string[]): void;
  /** Jobs came into this group of a queue, or into some that is not named, with nobody to see whose turn it is. */
  blocked(queue: string, group: string | undefined): void;
  /** Another replica said something about claims that may be repeated (src/takeovers.ts). */
  aboutClaims(verb: string, sender: string, text: string): void;
  /** Messages may have been missed: any queue may have something. */
  anywhere(): void;
}

/**
 * Tells waiting claims, in this process and on other replicas, that a queue may have something for them. Replicas say
 * on one channel where they wait (`wait <sender> <queue>`), and only then are told of jobs (`ready <sender> <queue>`). Who
 * puts jobs into groups by SQL says so (`blocked <sender> <queue> <group>`, or without the group). All are told which jobs
 * are finished that somebody waits for (`done <sender> <id>,<id>`). Lost messages cost
 * latency, never jobs: whoever waits also looks by itself, slowly.
 */
export function createNotifier(options: {
  db: Db;
  url: string;
  log: (error: unknown, message: string) => void;
}) {
  const { db, url, log } = options;
  const self = randomBytes(6).toString('hex');
  const interest = new Map<string, number>();
  const announced = new Map<string, number>();
  const quiet = new Map<string, { again: boolean }>();
  let listeners: NotifierListeners = {
    here: () => undefined,
    coming: () => undefined,
    elsewhere: () => undefined,
    finished: () => undefined,
    blocked: () => undefined,
    aboutClaims: () => undefined,
    anywhere: () => undefined,
  };
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  function send(verb: 'wait' | 'ready' | 'hello' | 'done' | ClaimVerb, about = ''): Promise<unknown> {
    return db
      .query(notify, { message: `${verb} ${self} ${about}` })
      .catch((error: Error) => log(error, 'a wake-up was not sent'));
  }

  /** A job that came to another replica before it heard of us was announced by nobody: one more look finds it. */
  function lookAgain(queue: string): void {
    setTimeout(() => listeners.elsewhere(queue), HEARD_MS).unref();
  }

  function tellOthers(queue: string): void {
    const throttled = quiet.get(queue);
    if (throttled) {
      throttled.again = true;
      return;
    }
    const state = { again: false };
    quiet.set(queue, state);
    void send('ready', queue);
    setTimeout(() => {
      quiet.delete(queue);
      if (state.again) tellOthers(queue);
    }, QUIET_MS).unref();
  }

  function receive(message: string | undefined): void {
    const [verb = '', sender = '', about = '', ...rest] = (message ?? '').split(' ');
    if (sender === self) return;
    if (verb === 'ready') listeners.elsewhere(about);
    // A group's name may have spaces.
    else if (verb === 'blocked') listeners.blocked(about, rest.join(' ') || undefined);
    else if (verb === 'wait') interest.set(about, performance.now() + INTEREST_MS);
    else if (verb === 'done') listeners.finished(about.split(','));
    else if (verb === 'hello') announced.clear();
    else listeners.aboutClaims(verb, sender, about);
  }

  async function listen(): Promise<void> {
    const listener = new pg.Client(connectionOptions(url));
    listener.on('error', (error) => {
      if (client === listener) reconnect(error);
    });
    listener.on('end', () => {
      if (client === listener) reconnect(new Error('Connection terminated'));
    });
    listener.on('notification', ({ payload }) => receive(payload));
    client = listener;
    try {
      await listener.connect();
      await listener.query('listen dibs');
      void send('hello');
      announced.clear();
      listeners.anywhere();
    } catch (error) {
      if (client === listener) reconnect(error as Error);
    }
  }

  function reconnect(error: Error): void {
    client?.end().catch(() => undefined);
    client = undefined;
    if (closed) return;
    log(translate(error), 'listening for wake-ups again soon');
    retry = setTimeout(listen, RECONNECT_MS);
  }

  return {
    /** This replica, as the others know it. */
    self,

    async start(to: NotifierListeners): Promise<void> {
      listeners = to;
      await listen();
    },

    /** A queue's next round brings it something, so that a claim that waits here can be served by the same round. */
    coming: (queue: string): void => listeners.coming(queue),

    /** A queue has something ready, as of a transaction that has committed. */
    ready(queue: string, round?: number): void {
      listeners.here(queue, round);
      const until = interest.get(queue);
      if (until === undefined) return;
      if (until > performance.now()) tellOthers(queue);
      else interest.delete(queue);
    },

    /** Jobs that somebody may wait for are finished; the other replicas are told. */
    finished(ids: string[]): void {
      for (let at = 0; at < ids.length; at += MOST_IDS)
        void send('done', ids.slice(at, at + MOST_IDS).join());
    },

    aboutClaims: (verb: ClaimVerb, text: string): void => void send(verb, text),

    /** Somebody waits here for a queue. */
    waiting(queue: string): void {
      const now = performance.now();
      const last = announced.get(queue) ?? Number.NEGATIVE_INFINITY;
      if (last > now - RENEW_MS) return;
      if (announced.size >= MOST_ANNOUNCED) announced.clear();
      announced.set(queue, now);
      const heard = send('wait', queue);
      if (last < now - INTEREST_MS) void heard.then(() => lookAgain(queue));
    },

    async stop(): Promise<void> {
      closed = true;
      clearTimeout(retry);
      const last = client;
      client = undefined;
      await last?.end().catch(() => undefined);
    },
  };
}

export type Notifier = ReturnType<typeof createNotifier>;
