import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Refusal } from '../../../src/errors.ts';
import { isFinished, sizeOf } from '../../../src/job.ts';
import { COPIES } from '../../../src/memory.ts';
import type { Afterwards } from '../../../src/verbs/enqueue.ts';
import { MAX_WAIT_SECONDS } from '../../schemas/common.ts';
import { takeAnswer } from '../connection/memory.ts';
import { onHangup } from '../connection/taken.ts';
import { callerId } from '../security/clientAddress.ts';

export const preferHeaders = Type.Object({
  Prefer: Type.Optional(
    Type.String({
      description:
        'Preferences (RFC 7240). `wait=20` asks to be answered with the finished job, if it finishes within so many ' +
        `seconds (whole ones, up to ${MAX_WAIT_SECONDS}); the timeout of the client must be longer. Others are ignored.`,
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
 * job is not finished by then. When the client hangs up, a sole wait ends. Another one goes on, and keeps nothing of its request.
 */
export function finishedWithin(seconds: number, request: FastifyRequest): Afterwards {
  const { verbs } = request;
  const sole = isSole(request);
  const from = sole ? request.raw.socket : (request.caller ?? undefined);
  const own = request.server.memory.hold(callerId(request));
  // Functions below must not use `request`, or it would live as long as they do.
  let client: FastifyRequest | undefined = request;

  function whenGone(gone: () => void): void {
    if (client) onHangup(client, gone);
    else gone();
  }

  return {
    seconds,
    hold: () => own,
    onHangup: (gone) =>
      whenGone(() => {
        client = undefined;
        gone();
      }),
    async finished({ id, deduplicated, replaced }) {
      try {
        const announced = !deduplicated;
        const finished = await verbs.waitForEnqueued({
          id,
          from,
          wait_seconds: seconds,
          announced,
          sole: sole && announced,
          onHangup: sole ? whenGone : undefined,
        });
        if (!isFinished(finished.state)) return undefined;
        const bytes = sizeOf(finished);
        if (client) takeAnswer(client, bytes);
        else own.take(bytes * (COPIES - 1));
        return { ...finished, deduplicated, replaced };
      } catch (error) {
        // The job was purged, the database is away, or there is no memory for the whole job. The job was enqueued, and that is the answer.
        if (error instanceof Refusal) return undefined;
        throw error;
      }
    },
  };
}
