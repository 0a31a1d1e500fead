import type { Access } from '../../src/access/access.ts';
import { type Caller, createCaller, SCOPES, type Scope } from '../../src/caller.ts';
import { Refusal, unauthorized } from '../../src/errors.ts';
import type { Method, Service } from './service.ts';

const SPOKEN = /^([a-z,]+)@([^#]*)(#.*)?$/;

/** `produce,read@mail.*,sms`: scopes and queue patterns. `#2` at its end makes it another caller. `none` is no scope. */
function callerOf(token: string): Caller {
  const [, scopes = '', queues = ''] = SPOKEN.exec(token) ?? [];
  if (scopes === '') throw new Refusal('unauthorized', 'This access key is not valid.');
  return createCaller(
    { id: `Bearer ${token}`, name: token },
    {
      scopes: scopes === 'none' ? [] : scopes === 'all' ? SCOPES : (scopes.split(',') as Scope[]),
      queues: queues.split(','),
    },
  );
}

/** An Access whose keys say what they allow. */
export function speakingAccess(): Access {
  const callers = new Map<string, Caller>();
  return {
    isOpen: () => false,
    awaitsFirstKey: () => false,
    known: ({ token = '' }) => callers.get(token),
    identify({ token = '', flaw }) {
      if (flaw !== undefined) throw unauthorized();
      const known = callers.get(token) ?? callerOf(token);
      callers.set(token, known);
      return known;
    },
  };
}

/** The calls of a caller: `as(service, 'produce@mail')('POST', '/jobs', {...})`. */
export const as =
  (service: Service, key: string) =>
  (method: Method, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.call(method, path, body, { authorization: `Bearer ${key}`, ...headers });
