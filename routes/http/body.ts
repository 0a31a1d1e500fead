import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MAX_SMALL_JSON_BYTES } from '../schemas/common.ts';
import { takeFingerprint } from './idempotency.ts';
import { parseKeepingRaw, type RawShape } from './rawJson.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The values of the body that are kept as texts. */
    raw?: RawShape;
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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

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
        if (body.length > 0) parsed = parseKeepingRaw(utf8.decode(body), request.routeOptions.config.raw);
        takeFingerprint(request, body);
      } catch (error) {
        done(error as Error);
        return;
      }
      done(null, parsed);
    },
  );
}

/** For routes whose body may be left out: no body becomes `{}`. A body of `null` is not left out. */
export function noBodyIsEmpty(request: FastifyRequest, _: FastifyReply, done: () => void): void {
  if (request.body === undefined) request.body = {};
  done();
}
