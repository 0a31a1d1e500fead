import { DibsError } from '../../clients/typescript/src/errors.ts';
import { getQueue } from '../../clients/typescript/src/generated.ts';
import { type Shown, shown } from '../shown.ts';
import type { Session } from './session.ts';

/*
 * A name of a queue that nothing knows is most often mistyped. `dibs enqueue`, `dibs batch create` and `dibs queue set` make
 * queues by the way.
 */

const isUnknown = (error: unknown) => error instanceof DibsError && error.code === 'queue_not_found';

/** @throws DibsError when there is no such queue. `hint` is said then. */
export async function checkQueue(session: Session, queue: string, hint?: Shown): Promise<void> {
  try {
    await session.ask((caller) => getQueue(caller, queue));
  } catch (error) {
    if (hint !== undefined && isUnknown(error)) session.say(hint);
    throw error;
  }
}

/** Says that there is no such queue, as far as the key may look: an answer about it is empty, or it is made later. */
export async function sayIfUnknown(session: Session, queue: string, more = ''): Promise<void> {
  await checkQueue(session, queue).catch((error) => {
    if (isUnknown(error)) session.say(shown`There is no queue ${JSON.stringify(queue)}.${more}`);
    else if (!(error instanceof DibsError && error.code === 'forbidden')) throw error;
  });
}

/** Those of these queues that are not there, as far as one can look. */
export async function missingOf(session: Session, queues: string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const queue of new Set(queues))
    await checkQueue(session, queue).catch((error) => isUnknown(error) && missing.push(queue));
  return missing;
}
