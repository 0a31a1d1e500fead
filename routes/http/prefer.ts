import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Afterwards } from '../../src/enqueue/idempotency.ts';
import { Refusal } from '../../src/errors.ts';
import { sizeOf } from '../../src/job.ts';
import { isFinished } from '../../src/waiting/waiters.ts';
import { MAX_WAIT_SECONDS } from '../schemas/common.ts';
import { onHangup } from './hangup.ts';
import { takeAnswer } from './memory.ts';
import { jobJson } from './serialize.ts';

export const preferHeaders = Type.Object({
  Prefer: Type.Optional(
    Type.String({
      description:
        'Preferences (RFC 7240). `wait=20` asks to be answered with the finished job, if it finishes within so many ' +
        `seconds (whole ones, up to ${MAX_WAIT_SECONDS}); the client must be as patient. Others are ignored.`,
    }),
  ),
});

/** A preference of the header, with its value. Commas separate preferences, except in quotation marks. */
const PREFERENCE = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const WAIT = /^\s*wait\s*(?:=\s*(?<quote>"?)(?<seconds>\d*)\k<quote>\s*)?(?:;|$)/i;
const NAMED_WAIT = /^\s*wait\s*(?:[=;]|$)/i;

/** How many seconds a Prefer header asks to wait, at most 60. Undefined without a valid `wait`. */
export function preferredWait(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  // If a preference is repeated, the first one counts (RFC 7240, section 2).
  const first = [header]
    .flat()
    .flatMap((value) => value.match(PREFERENCE) ?? [])
    .find((preference) => NAMED_WAIT.test(preference));
  const seconds = WAIT.exec(first ?? '')?.groups?.seconds;
  return seconds ? Math.min(Number(seconds), MAX_WAIT_SECONDS) : undefined;
}

/** With an Idempotency-Key, another request may wait for the same answer. Otherwise the client is the only one who waits. */
export const isSole = ({ headers }: FastifyRequest): boolean => headers['idempotency-key'] === undefined;

/**
 * Waits until the enqueued job is finished, for at most `seconds`, and answers with it. The answer is undefined when the
 * job is not finished by then, or the client hangs up.
 */
export const finishedWithin = (
  seconds: number,
  request: FastifyRequest,
  reply: FastifyReply,
): Afterwards => ({
  seconds,
  async answer([job]) {
    const id = job?.id as string;
    try {
      const sole = isSole(request);
      const announced = !job?.deduplicated;
      const finished = await request.verbs.waitForEnqueued({
        id,
        from: request.raw.socket,
        wait_seconds: seconds,
        announced,
        sole: sole && announced,
        onHangup: sole ? (gone) => onHangup(reply, gone) : undefined,
      });
      if (!isFinished(finished.state)) return undefined;
      takeAnswer(request, sizeOf(finished));
      const body = jobJson({ ...finished, deduplicated: job?.deduplicated });
      return { status: 200, location: `/jobs/${id}`, body };
    } catch (error) {
      // The job was purged, the database is away, or there is no memory for the whole job. The job was enqueued, and that is the answer.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  },
});
