import type { Caller } from '../caller.ts';
import type { TracedOrigin } from '../verbs/keys.ts';
import type { VerbName } from '../verbs.ts';
import type { Verb } from './allowed.ts';
import type { Audit } from './audit.ts';
import { needOf } from './needs.ts';

/** The verb, with a note of each call. A verb that is not audited stays as it is. */
export function audited(
  audit: Pick<Audit, 'note'>,
  caller: Caller,
  origin: TracedOrigin,
  name: VerbName,
  verb: Verb,
): Verb {
  const { about } = needOf(name);
  if (!about) return verb;
  return async (request) => {
    const started = performance.now();
    let result: unknown;
    try {
      result = await verb(request);
    } catch (error) {
      await audit.note(caller, origin, name, about(request), started, { error });
      throw error;
    }
    await audit.note(caller, origin, name, about(request, result), started);
    return result;
  };
}
