import type { Caller } from '../caller.ts';
import type { TracedOrigin } from '../verbs/keys.ts';
import type { VerbName, Verbs } from '../verbs.ts';
import { createAllowed, type QueuesOfJobs, type Verb } from './allowed.ts';
import type { Audit } from './audit.ts';
import { audited } from './audited.ts';
import { scopeMissing } from './checks.ts';
import { needOf } from './needs.ts';
import type { NewQueueLimit } from './newQueues.ts';

const UNKNOWN_ORIGIN: TracedOrigin = { address: null, request_id: null };

/**
 * The verbs as one caller may use them. What each verb needs stands in needs.ts, and every protocol uses the verbs
 * through here: nothing else decides who may do what, and nothing else notes who did it.
 */
export function guard(
  verbs: Verbs,
  queues: QueuesOfJobs,
  audit: Pick<Audit, 'note'>,
  limitNewQueues?: NewQueueLimit,
) {
  const known = new WeakMap<Caller, { allowed: Verbs; audited: Verbs }>();
  const allowed = createAllowed(verbs, queues, limitNewQueues);
  const names = Object.keys(verbs) as VerbName[];

  const each = (make: (name: VerbName) => Verb): Verbs =>
    Object.fromEntries(names.map((name) => [name, make(name)])) as unknown as Verbs;

  function knownOf(caller: Caller) {
    const before = known.get(caller);
    if (before) return before;
    const made = each((name) => allowed(caller, name));
    const both = {
      allowed: made,
      audited: each((name) => audited(audit, caller, UNKNOWN_ORIGIN, name, made[name] as Verb)),
    };
    known.set(caller, both);
    return both;
  }

  return {
    /** The verbs for a caller. Each throws `forbidden` for what the caller may not do. */
    as: (caller: Caller): Verbs => knownOf(caller).audited,

    /**
     * The verbs for a request that asks for the verb `name`, before its body is read. Where that one is audited,
     * `origin` stands in the audit.
     * @throws Refusal `forbidden` when the caller lacks the scope
     */
    admit(caller: Caller, name: VerbName, origin?: TracedOrigin): Verbs {
      const { scope } = needOf(name);
      if (!caller.may(scope)) {
        const refusal = scopeMissing(scope);
        if (origin) void audit.note(caller, origin, name, {}, performance.now(), { error: refusal });
        throw refusal;
      }
      const of = knownOf(caller);
      if (!origin) return of.audited;
      return { ...of.audited, [name]: audited(audit, caller, origin, name, of.allowed[name] as Verb) };
    },
  };
}
