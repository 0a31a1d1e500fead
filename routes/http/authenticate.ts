import type { FastifyRequest, RouteOptions } from 'fastify';
import type { Access } from '../../src/access/access.ts';
import { ANYBODY, type Caller } from '../../src/access/caller.ts';
import { checkScope } from '../../src/access/guard.ts';
import { needOf, type VerbName } from '../../src/access/needs.ts';
import type { CallerVerbs, Engine } from '../../src/engine.ts';
import { invalidRequest } from '../../src/errors.ts';
import type { App } from './fastify.ts';
import { timesSent } from './head.ts';
import { addOnRequest } from './knownRoute.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The verb that the route is for: it says what the caller needs (src/access/needs.ts). `none`: anybody may use it. */
    verb?: VerbName | 'none';
  }
  interface FastifyRequest {
    /** The verbs as the caller may use them. A route reaches the engine through them only. */
    verbs: CallerVerbs;
    /** The name of the caller, where there are keys. */
    caller: string | undefined;
  }
}

/** The verb of a route, or undefined where anybody may ask. @throws Error for a route that does not say what it needs */
function verbOf({ config, schema, method, url }: RouteOptions): VerbName | undefined {
  const verb = config?.verb;
  if (verb === undefined && schema?.hide !== true)
    throw new Error(`${method} ${url} must name its verb in its config, or 'none'`);
  return verb === 'none' ? undefined : verb;
}

function credentialOf({ headers, raw }: FastifyRequest) {
  if (headers.authorization !== undefined && timesSent(raw.rawHeaders, 'authorization') > 1)
    throw invalidRequest([{ in: 'header', path: '/authorization', message: 'must not be sent twice' }]);
  return { authorization: headers.authorization, certificate: undefined };
}

/** Finds out who sends each request, before its body is read. Refuses a caller without the scope of the route. */
export function authenticate(app: App, engine: Pick<Engine, 'as'>, access: Access): void {
  app.decorateRequest('verbs', undefined as never);
  app.decorateRequest('caller', undefined);

  function letIn(request: FastifyRequest, verb: VerbName, caller: Caller): void {
    checkScope(caller, needOf(verb).scope);
    request.verbs = engine.as(caller);
    if (caller.id !== undefined) request.caller = caller.name;
  }

  app.addHook('onRoute', (route) => {
    const verb = verbOf(route);
    // Such a route gets no verbs.
    if (verb === undefined) return;
    addOnRequest(route, (request, _, done) => {
      try {
        const caller = access.isOpen() ? ANYBODY : access.identify(credentialOf(request));
        if (caller instanceof Promise) {
          caller.then((known) => letIn(request, verb, known)).then(() => done(), done);
        } else {
          letIn(request, verb, caller);
          done();
        }
      } catch (error) {
        done(error as Error);
      }
    });
  });
}
