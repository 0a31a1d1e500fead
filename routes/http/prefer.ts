import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Engine } from '../../src/engine.ts';
import type { Afterwards } from '../../src/enqueue/idempotency.ts';
import { Refusal } from '../../src/errors.ts';
import { isFinished } from '../../src/waiting/waiters.ts';
import { onHangup } from './hangup.ts';
import { jobJson } from './serialize.ts';

const MOST_SECONDS = 60;

export const preferHeaders = Type.Object({
  Prefer: Type.Optional(
    Type.String({
      description:
        'Preferences (RFC 7240). `wait=20` asks to be answered with the finished job, if it finishes within so many ' +
        `seconds (whole ones, up to ${MOST_SECONDS}); the client must be as patient. Others are ignored.`,
      examples: ['wait=20'],
    }),
  ),
});

/** The preferences of a header, and their values: separated by commas, outside of quotation marks. */
const PREFERENCE = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const WAIT = /^\s*wait\s*(?:=\s*(?<quote>"?)(?<seconds>\d*)\k<quote>\s*)?(?:;|$)/i;
const NAMED_WAIT = /^\s*wait\s*(?:[=;]|$)/i;

/** The seconds that a Prefer header asks to wait, within our limit; undefined when it asks for none, or in no way known. */
export function preferredWait(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  // Of a preference that comes twice the first one counts (RFC 7240, section 2).
  const first = [header]
    .flat()
    .flatMap((value) => value.match(PREFERENCE) ?? [])
    .find((preference) => NAMED_WAIT.test(preference));
  const seconds = WAIT.exec(first ?? '')?.groups?.seconds;
  return seconds ? Math.min(Number(seconds), MOST_SECONDS) : undefined;
}

/** Waits for the end of the job that a request has enqueued, for as long as its client does. */
export const finishedWithin = (
  engine: Engine,
  seconds: number,
  request: FastifyRequest,
  reply: FastifyReply,
): Afterwards => ({
  seconds,
  async answer([job]) {
    const id = job?.id as string;
    try {
      const wait = engine.jobs.wait(id, seconds, { announced: !job?.deduplicated });
      // What a key stands for is found out to the end: another request with it may wait for the same.
      if (request.headers['idempotency-key'] === undefined) onHangup(reply, wait.end);
      const finished = await wait.job;
      if (!isFinished(finished.state)) return undefined;
      const body = jobJson({ ...finished, deduplicated: job?.deduplicated });
      return { status: 200, location: `/jobs/${id}`, body };
    } catch (error) {
      // Purged since, or nobody can tell: it was enqueued all the same.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  },
});
