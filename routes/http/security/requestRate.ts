import type { FastifyReply, FastifyRequest } from 'fastify';
import { rateLimited } from '../../../src/errors.ts';
import type { App } from '../connection/fastify.ts';
import { callerId } from './clientAddress.ts';

/** Counts a request. @throws Refusal `rate_limited` when its caller sent too many in this second */
export type CountRequest = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

const WINDOW_MS = 1000;
/** Of more callers within a second, those that were quiet longest begin anew. */
const MAX_CALLERS = 10_000;

/**
 * Counts the requests of each caller, second by second. Where nobody needs a key, the address is the caller. The answers
 * get `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (draft-ietf-httpapi-ratelimit-headers-06).
 */
export async function createCountRequest(app: App, perSecond: number): Promise<CountRequest> {
  const { default: rateLimit } = await import('@fastify/rate-limit');
  await app.register(rateLimit, {
    global: false,
    max: perSecond,
    timeWindow: WINDOW_MS,
    cache: MAX_CALLERS,
    enableDraftSpec: true,
    keyGenerator: callerId,
    errorResponseBuilder: () =>
      rateLimited(
        `This access key may send ${perSecond} requests a second to a replica. Nothing was done. Try again later.`,
        WINDOW_MS / 1000,
      ),
  });
  return app.rateLimit() as unknown as CountRequest;
}
