import { gathering } from '../postgres/gathering.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import type { Listener } from './listener.ts';
import type { Send } from './notifications.ts';

const notify = planned('replicas/notify');

/** So many notifications go in one transaction. */
const MOST_TOGETHER = 500;

/** Sends the notifications of this replica in order, many with one statement. */
export function createOutbox(context: {
  db: Db;
  self: string;
  listener: Pick<Listener, 'expectEcho' | 'forgetEcho'>;
  log: (error: unknown, message: string) => void;
}) {
  const { db, self, listener, log } = context;
  let isClosed = false;
  /** They are sent in order: when this one is sent, all are. */
  let last: Promise<unknown> = Promise.resolve();

  const sendTogether = gathering(MOST_TOGETHER, (messages: string[]) => {
    listener.expectEcho();
    return db.query(notify, { messages }).catch((error: Error) => {
      listener.forgetEcho();
      log(error, 'notifications were not sent');
      return [];
    });
  });

  const send: Send = (verb, about = '') => {
    if (!isClosed) last = sendTogether(`${verb} ${self} ${about}`);
    return last;
  };

  return {
    send,

    /** Sends what is still to be sent, and nothing after that. */
    close(): Promise<unknown> {
      isClosed = true;
      return last;
    },
  };
}
