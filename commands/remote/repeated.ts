import { backoffMs, pause } from '../../clients/typescript/src/backoff.ts';
import { isTemporary } from '../../clients/typescript/src/errors.ts';
import { shown } from '../shown.ts';
import type { Session } from './session.ts';

const REPEAT_MS = 30_000;

/** The same request again, while Dibs is away for a moment. It must count once, however often it is sent. */
export async function repeated<T>(session: Pick<Session, 'say'>, send: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + REPEAT_MS;
  for (let failures = 0; ; failures++) {
    try {
      return await send();
    } catch (error) {
      const ms = backoffMs(failures, error);
      if (!isTemporary(error) || performance.now() + ms > endsAt) throw error;
      if (failures === 0)
        session.say(shown`dibs: ${(error as Error).message}\nTrying again for ${REPEAT_MS / 1000} s.`);
      await pause(ms);
    }
  }
}
