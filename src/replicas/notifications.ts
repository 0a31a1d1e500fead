/*
 * What replicas tell each other, by NOTIFY on one channel. A notification is a verb, its sender, and what it is about:
 *
 *   wait <sender> <queue>              A claim waits for this queue with the sender, from now on for INTEREST_MS.
 *   ready <sender> <queue>             The queue has a ready job. A replica sends it only while a claim waits on another,
 *                                      and for each new queue: claims may wait for a queue that does not exist yet.
 *   blocked <sender> <queue> [<group>] Jobs came into the group, or into some group, and nobody advanced it. SQL sends
 *                                      it.
 *   done <sender> <id>,<id>,...        These jobs are finished, and clients may wait for them.
 *   hello <sender>                     The sender has begun to listen. The others tell it again where claims wait.
 *   replaced <sender> <mark>,<request> The claim was repeated with the sender, and this request may not wait any
 *                                      longer.
 *   keys <sender>                      Access keys have changed. SQL sends it, with the change.
 *   placed <sender> <queue>            The queue goes to another database, has gone there, or has come back. SQL sends it, in home.
 *   sessions <sender>                  The sender holds sessions (src/maintenance/sessions.ts).
 *   active <sender>                    The sender does something. `due sql`: SQL has enqueued a job that becomes due.
 *   looked <sender> [<ms>]             The sender has looked for what is due (src/maintenance/rest.ts): the next thing
 *                                      in so many ms. SQL sends it, with the look.
 *
 * A lost notification costs latency, never a job: claims and clients that wait also look by themselves, now and then.
 */

/** Sends a notification of this replica. Resolves when it, and all before it, are sent. */
export type Send = (
  verb: 'wait' | 'ready' | 'hello' | 'done' | 'replaced' | 'sessions' | 'active',
  about?: string,
) => Promise<unknown>;

/** How long a `wait` holds. */
export const INTEREST_MS = 45_000;

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
  /** A queue goes to another database, has gone there, or has come back. */
  placed(queue: string): void;
  /** There are sessions, at another replica. */
  sessions(): void;
  /** Notifications may be lost: any queue may have something ready. */
  anywhere(): void;
  /** Another replica, or SQL, does something. */
  active(): void;
  /** Another replica has looked for what is due. The next thing is, if there is one, in so many milliseconds. */
  looked(looker: string, inMs: number | undefined): void;
}

/** A notification as it was heard. */
interface Heard {
  verb: string;
  sender: string;
  about: string;
  rest: string[];
}

export function parse(notification = ''): Heard {
  const [verb = '', sender = '', about = '', ...rest] = notification.split(' ');
  return { verb, sender, about, rest };
}

/** Tells what another replica, or SQL, has sent. */
export function tell(listeners: NotifierListeners, { verb, sender, about, rest }: Heard): void {
  if (sender === 'sql' || verb === 'hello' || verb === 'active') listeners.active();
  if (verb === 'ready') listeners.elsewhere(about);
  // The name of a group may have spaces.
  else if (verb === 'blocked') listeners.blocked(about, rest.join(' ') || undefined);
  else if (verb === 'done') listeners.finished(about.split(','));
  else if (verb === 'looked') listeners.looked(sender, about === '' ? undefined : Number(about));
  else if (verb === 'keys') listeners.keysChanged();
  else if (verb === 'sessions') listeners.sessions();
  else if (verb === 'placed') listeners.placed(about);
  else if (verb === 'replaced') {
    const [mark = '', request = ''] = about.split(',');
    listeners.replaced(mark, request);
  }
}
