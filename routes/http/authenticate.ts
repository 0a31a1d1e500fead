import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Access } from '../../src/access/access.ts';
import { ANYBODY, type Caller } from '../../src/access/caller.ts';
import { checkScope } from '../../src/access/guard.ts';
import { needOf, type VerbName } from '../../src/access/needs.ts';
import type { CallerVerbs, Engine } from '../../src/engine.ts';
import { invalidRequest } from '../../src/errors.ts';
import type { App } from './fastify.ts';
import { timesSent } from './head.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The verb that the route is for: it says what the caller needs (src/access/needs.ts). `none`: anybody may use it. */
    verb?: VerbName | 'none';
  }
  interface FastifyRequest {
    /** Who sends the request. Null for a route that anybody may use. */
    caller: Caller | null;
    /** The verbs as the caller may use them. A route reaches the engine through them only. */
    verbs: CallerVerbs;
  }
}

/** @throws Error for a route that is documented, and does not say what it needs */
export function checkDeclaration({ config, schema, method, url }: RouteOptions): void {
  if (config?.verb === undefined && schema?.hide !== true)
    throw new Error(`${method} ${url} must name its verb in its config, or 'none'`);
}

function credentialOf({ headers, raw }: FastifyRequest) {
  if (headers.authorization !== undefined && timesSent(raw.rawHeaders, 'authorization') > 1)
    throw invalidRequest([{ in: 'header', path: '/authorization', message: 'must not be sent twice' }]);
  return { authorization: headers.authorization, certificate: undefined };
}

/** Finds out who sends each request, before its body is read. Refuses a caller without the scope of the route. */
export function authenticate(app: App, engine: Pick<Engine, 'as'>, access: Access): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('verbs', undefined as never);

  function letIn(request: FastifyRequest, verb: VerbName, caller: Caller): void {
    request.caller = caller;
    checkScope(caller, needOf(verb).scope);
    request.verbs = engine.as(caller);
  }

  app.addHook('onRequest', (request: FastifyRequest, _: FastifyReply, done: (error?: Error) => void) => {
    const { verb } = request.routeOptions.config;
    try {
      // A route without a declaration gets no verbs.
      if (verb === undefined || verb === 'none') {
        done();
        return;
      }
      const caller = access.isOpen() ? ANYBODY : access.identify(credentialOf(request));
      if (!(caller instanceof Promise)) {
        letIn(request, verb, caller);
        done();
        return;
      }
      caller.then((known) => letIn(request, verb, known)).then(() => done(), done);
    } catch (error) {
      done(error as Error);
    }
  });
}
