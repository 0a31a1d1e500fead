import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { atOnce, inSlices } from '../../../src/slices.ts';
import { MAX_SMALL_JSON_BYTES } from '../../schemas/common.ts';
import { needsFingerprint } from '../answers/idempotency.ts';
import { unwantedBody } from '../answers/refusalOf.ts';
import { fingerprintOf } from './fingerprint.ts';
import { LONG_TEXT, type RawShape } from './openJson.ts';
import { readingJson, readJson } from './rawJson.ts';
import { readBody } from './readBody.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The values of the body that are kept as texts, or may be long. */
    raw?: RawShape;
    /** The body may be left out: every field has a default, and nothing is destroyed. */
    optionalBody?: boolean;
  }
}

/** A larger body is read in slices, and other requests in between. */
const SLICED_BYTES = 64 * 1024;

const small: RawShape = { maxBytes: MAX_SMALL_JSON_BYTES };

/** For each kind of body, the values that are kept as texts, or may be long. */
export function rawShapes(maxPayloadBytes: number) {
  const job: RawShape = { members: { payload: { maxBytes: maxPayloadBytes } } };
  const ack: RawShape = { members: { result: small, enqueue: [job] } };
  const nack: RawShape = { members: { error: LONG_TEXT, enqueue: [job] } };
  const extend: RawShape = { members: { progress: small } };
  return {
    job,
    jobs: { members: { jobs: [job] } } as RawShape,
    batch: { members: { jobs: [job], on_success: job, on_end: job } } as RawShape,
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
  app.addContentTypeParser('application/json', (request: FastifyRequest, _: unknown, done: Parsed) =>
    readBody(request, (error, body) => {
      if (error) done(error);
      else parse(request, body as Buffer, done);
    }),
  );
}

type Parsed = (error: Error | null, body?: unknown) => void;

function* parsing(request: FastifyRequest, body: Buffer): Generator<void, unknown> {
  const parsed = yield* readingJson(body, request.route.raw);
  if (needsFingerprint(request)) request.fingerprint = yield* fingerprintOf(body);
  return parsed;
}

function parse(request: FastifyRequest, body: Buffer, done: Parsed): void {
  if (body.length > SLICED_BYTES) {
    inSlices(parsing(request, body)).then((parsed) => done(null, parsed), done);
    return;
  }
  let parsed: unknown;
  try {
    if (body.length > 0) parsed = readJson(body, request.route.raw);
    if (needsFingerprint(request)) request.fingerprint = atOnce(fingerprintOf(body));
  } catch (error) {
    done(error as Error);
    return;
  }
  done(null, parsed);
}

type Done = (error?: Error) => void;

/** Makes a body that is left out `{}`. A body of `null` is not left out. */
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
  else done(unwantedBody());
}

/** The same for GET and HEAD. Fastify does not read their bodies, whatever type they have. */
function readAndRefuseBody(request: FastifyRequest, _: FastifyReply, done: Done): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (length === '0' && encoding === undefined) {
    done();
    return;
  }
  readBody(request, (error, bytes) => {
    if (error) done(error);
    else
      parse(request, bytes as Buffer, (failed, body) =>
        done(failed || !isEmpty(body) ? unwantedBody() : undefined),
      );
  });
}

const UNREAD = ['GET', 'HEAD'];

/** Makes each route take its body, or go without one, as the OpenAPI document says. */
export function checkPresenceOfBody(route: RouteOptions): void {
  if ([route.method].flat().every((method) => UNREAD.includes(method)))
    route.preValidation = readAndRefuseBody;
  else if (route.config?.optionalBody) route.preValidation = noBodyIsEmpty;
  else if ((route.schema as { body?: unknown } | undefined)?.body === undefined)
    route.preValidation = refuseBody;
}
