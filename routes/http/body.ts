import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { MAX_SMALL_JSON_BYTES } from '../schemas/common.ts';
import { takeFingerprint } from './idempotency.ts';
import { parseKeepingRaw, type RawShape } from './rawJson.ts';
import { wholeBody } from './refusalOf.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The values of the body that are kept as texts. */
    raw?: RawShape;
    /** The body may be left out: every field has a default, and nothing is destroyed. */
    optionalBody?: boolean;
  }
}

export const MAX_BODY_BYTES = 16 * 2 ** 20;

const small: RawShape = { maxBytes: MAX_SMALL_JSON_BYTES };

/** For each kind of body, the values that are kept as texts. */
export function rawShapes(maxPayloadBytes: number) {
  const job: RawShape = { members: { payload: { maxBytes: maxPayloadBytes } } };
  const ack: RawShape = { members: { result: small, enqueue: [job] } };
  const nack: RawShape = { members: { enqueue: [job] } };
  const extend: RawShape = { members: { progress: small } };
  return {
    job,
    jobs: { members: { jobs: [job] } } as RawShape,
    schedule: { members: { job } } as RawShape,
    ack,
    nack,
    extend,
    settle: { members: { acks: [ack], nacks: [nack], extends: [extend] } } as RawShape,
  };
}

/** Accepts JSON in UTF-8 and nothing else. An empty body counts as no body. */
export function acceptJson(app: FastifyInstance): void {
  app.decorateRequest('fingerprint', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done: (error: Error | null, body?: unknown) => void) => {
      let parsed: unknown;
      try {
        if (body.length > 0) parsed = parseKeepingRaw(body, request.routeOptions.config.raw);
        takeFingerprint(request, body);
      } catch (error) {
        done(error as Error);
        return;
      }
      done(null, parsed);
    },
  );
}

type Done = (error?: Error) => void;

/** No body becomes `{}`. A body of `null` is not left out. */
function noBodyIsEmpty(request: FastifyRequest, _: FastifyReply, done: Done): void {
  if (request.body === undefined) request.body = {};
  done();
}

const isEmpty = (body: unknown) =>
  body === undefined ||
  (typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0);

/** A client that sends a body means something by it, so a body that would be ignored is refused. */
function refuseBody({ body }: FastifyRequest, _: FastifyReply, done: Done): void {
  if (isEmpty(body)) done();
  else done(wholeBody('must be empty: this operation takes none'));
}

const BODYLESS = ['GET', 'HEAD'];

/** Makes each route take its body, or go without one, as the OpenAPI document says. */
export function checkPresenceOfBody(route: RouteOptions): void {
  if ([route.method].flat().every((method) => BODYLESS.includes(method))) return;
  if (route.config?.optionalBody) route.preValidation = noBodyIsEmpty;
  else if ((route.schema as { body?: unknown } | undefined)?.body === undefined)
    route.preValidation = refuseBody;
}
