import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Job } from '../../../src/job.ts';
import {
  type Afterwards,
  enqueuedOf,
  type IdempotentRequest,
  type NewJob,
  type Once,
  type PathOf,
} from '../../../src/verbs/enqueue.ts';
import { text } from '../../schemas/common.ts';
import { timesSent } from '../connection/head.ts';
import { invalidPart } from './invalidPart.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes an Idempotency-Key. */
    idempotent?: boolean;
  }
  interface FastifyRequest {
    /** What the body says (fingerprint.ts). Only a request with an Idempotency-Key, of a route that takes one, has it. */
    fingerprint: string | null;
  }
}

const NAME = 'idempotency-key';

export const idempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    text(256, {
      description:
        'Makes a repeat safe: within 24 hours, the same key with an equal body is answered what the first request ' +
        'was, with `Idempotent-Replayed: true`, and no job is enqueued again; with another body it is refused at once. ' +
        'Bodies are equal when they are the same JSON, with the members of objects in any order and white space ' +
        'anywhere; numbers and strings count by their text. Refusals are not remembered. A random UUID serves well; the whole value counts, quotation ' +
        'marks included.',
    }),
  ),
});

/** The header of a repeat's answer, for the OpenAPI document. */
export const replayedHeader = {
  'Idempotent-Replayed': {
    type: 'string',
    enum: ['true'],
    description: 'The request is a repeat: this is the answer of the first one with its `Idempotency-Key`.',
  },
};

/** Whether the body of a request has to be compared. */
export const needsFingerprint = ({ headers, route }: FastifyRequest): boolean =>
  headers[NAME] !== undefined && route.isIdempotent;

/** The key of a request. @throws Refusal `invalid_request` when there is more than one */
function keyOf({ headers, raw }: FastifyRequest): string | undefined {
  const key = headers[NAME] as string | undefined;
  if (key === undefined) return undefined;
  if (timesSent(raw.rawHeaders, NAME) > 1)
    throw invalidPart([{ in: 'header', path: `/${NAME}`, message: 'must not be sent twice' }]);
  return key;
}

/** What makes a request one with its repeats. Undefined without an Idempotency-Key. */
export function idempotentOf(request: FastifyRequest): IdempotentRequest | undefined {
  const key = keyOf(request);
  const fingerprint = request.fingerprint as string;
  return key === undefined ? undefined : { route: request.route.name, key, fingerprint };
}

/** Says that the answer is of an earlier request. */
export const markReplayed = (reply: FastifyReply): FastifyReply =>
  reply.header('idempotent-replayed', 'true');

/** The answer to an enqueue. */
export interface Answer {
  status: number;
  location: string | null;
  body: string;
}

export function sendAnswer(reply: FastifyReply, { status, location, body }: Answer): FastifyReply {
  if (location !== null) reply.header('location', location);
  return reply.code(status).type('application/json').send(body);
}

/** Writes the answer of a request that has enqueued these jobs. */
type AnswerOf = (jobs: Job[]) => Answer | Promise<Answer>;

async function enqueueOnly(
  request: FastifyRequest,
  asked: { jobs: NewJob[]; at: PathOf },
  afterwards?: Afterwards,
) {
  const jobs = await request.verbs.enqueue(asked);
  const finished = await afterwards?.finished(enqueuedOf(jobs));
  return { jobs: finished ? [finished] : jobs };
}

/**
 * Enqueues jobs, once for each Idempotency-Key, and replies. `answerOf` writes the answer: of the jobs, or of the one that
 * finished while `afterwards` waited for it. `at` gives the JSON pointer to each job in the body.
 */
export async function enqueueAndReply(
  request: FastifyRequest,
  reply: FastifyReply,
  jobs: NewJob[],
  at: PathOf,
  answerOf: AnswerOf,
  afterwards?: Afterwards,
): Promise<FastifyReply> {
  const keyed = idempotentOf(request);
  const once: Once =
    keyed === undefined
      ? await enqueueOnly(request, { jobs, at }, afterwards)
      : await request.verbs.enqueueOnce({ request: keyed, jobs, at, afterwards });
  const given: Answer = once.older === undefined ? await answerOf(once.jobs) : JSON.parse(once.older);
  // A refusal applies no preference.
  if (afterwards) reply.header('preference-applied', `wait=${afterwards.seconds}`);
  if (once.replayed) markReplayed(reply);
  return sendAnswer(reply, given);
}
