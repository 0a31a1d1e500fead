import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Access, Credential } from '../../../src/access/access.ts';
import type { Failures } from '../../../src/access/failures.ts';
import { needOf } from '../../../src/access/needs.ts';
import { ANYBODY, type Caller } from '../../../src/caller.ts';
import { Refusal } from '../../../src/errors.ts';
import { idsOf } from '../../../src/traceparent.ts';
import type { TracedOrigin } from '../../../src/verbs/keys.ts';
import type { Engine, VerbName, Verbs } from '../../../src/verbs.ts';
import type { App } from '../connection/fastify.ts';
import { addOnRequest } from '../connection/knownRoute.ts';
import { clientAddress } from './clientAddress.ts';
import { credentialOf } from './credential.ts';
import type { CountRequest } from './requestRate.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The verb that the route is for: it says what the caller needs (src/access/needs.ts). `none`: anybody may use it. */
    verb?: VerbName | 'none';
  }
  interface FastifyRequest {
    /** Who sends the request. Null for a route that anybody may use. */
    caller: Caller | null;
    /** The verbs as the caller may use them. A route reaches the engine through them only. */
    verbs: Verbs;
  }
}

/**
 * The verb of a route, or undefined where anybody may ask.
 * @throws Error for a route that does not say what it needs. One that is hidden from the document must say it, too.
 */
export function verbOf({ config, method, url }: RouteOptions): VerbName | undefined {
  const verb = config?.verb;
  if (verb === undefined) throw new Error(`${method} ${url} must name its verb in its config, or 'none'`);
  return verb === 'none' ? undefined : verb;
}

function originOf(request: FastifyRequest): TracedOrigin {
  const trace_id = idsOf(request.headers.traceparent)?.traceId;
  return { address: clientAddress(request), request_id: request.id, trace_id };
}

/** What bounds how often somebody may ask. */
export interface RequestLimits {
  /** Undefined: no caller sends too many requests. */
  count: CountRequest | undefined;
  failures: Failures | undefined;
}

/** Finds out who sends each request, before its body is read. Refuses a caller without the scope of the route. */
export function authenticate(
  app: App,
  engine: Pick<Engine, 'admit'>,
  access: Access,
  { count, failures }: RequestLimits,
): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('verbs', undefined as never);

  function failed(request: FastifyRequest, credential: Credential, error: unknown): never {
    if (error instanceof Refusal && error.code === 'unauthorized')
      failures?.failed(clientAddress(request), credential);
    throw error;
  }

  function identify(request: FastifyRequest): Caller | Promise<Caller> {
    // Whoever shows the first key, a moment after it was made, is not anybody.
    if (request.headers.authorization === undefined && access.isOpen()) return ANYBODY;
    const credential = credentialOf(request);
    if (failures?.isAnyBlocked()) {
      const known = access.known(credential);
      if (known) return known;
      failures.checkMayTry(clientAddress(request), credential);
    }
    try {
      const caller = access.identify(credential);
      if (!(caller instanceof Promise)) return caller;
      return caller.then(
        (good) => {
          failures?.succeeded(credential);
          return good;
        },
        (error) => failed(request, credential, error),
      );
    } catch (error) {
      return failed(request, credential, error);
    }
  }

  function admit(request: FastifyRequest, verb: VerbName, caller: Caller): void {
    const isAudited = needOf(verb).about !== undefined;
    const origin = isAudited ? originOf(request) : undefined;
    request.verbs = engine.admit(caller, verb, origin);
  }

  function letIn(request: FastifyRequest, reply: FastifyReply, verb: VerbName, caller: Caller) {
    request.caller = caller;
    if (count) return count(request, reply).then(() => admit(request, verb, caller));
    return admit(request, verb, caller);
  }

  app.addHook('onRoute', (route) => {
    const verb = verbOf(route);
    // Such a route gets no verbs.
    if (verb === undefined) return;
    addOnRequest(route, (request, reply, done) => {
      try {
        const caller = identify(request);
        const admitted =
          caller instanceof Promise
            ? caller.then((known) => letIn(request, reply, verb, known))
            : letIn(request, reply, verb, caller);
        if (admitted instanceof Promise) admitted.then(() => done(), done);
        else done();
      } catch (error) {
        done(error as Error);
      }
    });
  });
}
