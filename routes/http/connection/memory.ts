import type { FastifyRequest } from 'fastify';
import { overloaded } from '../../../src/errors.ts';
import { COPIES, type Memory, SMALL_BYTES, WAITING_BYTES } from '../../../src/memory.ts';
import { inSlices, utf8Of } from '../../../src/slices.ts';
import type { App } from './fastify.ts';
import { holdOf } from './taken.ts';

declare module 'fastify' {
  interface FastifyInstance {
    memory: Memory;
  }
}

/** Larger answers are encoded in slices. */
const LARGE_ANSWER = 128 * 1024;

/** Holds what a request takes that waits. @throws Refusal `overloaded` when there is no room for it */
export const takeWait = (request: FastifyRequest): void => holdOf(request).take(WAITING_BYTES, 'waiting');

/** Holds what each answer takes, from the moment at which it is written. */
export function holdAnswers(app: App, memory: Memory): void {
  app.decorate('memory', memory);
  app.addHook('onSend', (request, _, payload, done) => {
    if (typeof payload === 'string' && payload.length > SMALL_BYTES) {
      holdOf(request).add(payload.length);
      // For a string, Node takes three times its length, and fills that with zeros first.
      if (payload.length > LARGE_ANSWER) {
        void inSlices(utf8Of(payload)).then((bytes) => {
          request.taken?.answered();
          done(null, bytes);
        });
        return;
      }
    }
    request.taken?.answered();
    done(null, payload);
  });
}

/**
 * Reads up to `wish` bytes from the database for an answer: `read` is told how many. @throws Refusal `overloaded` when
 * there is no room
 */
export async function withRoom<T>(
  request: FastifyRequest,
  wish: number,
  read: (maxBytes: number) => Promise<T>,
): Promise<T> {
  const hold = holdOf(request);
  const maxBytes = hold.takeUpTo(wish);
  if (maxBytes === undefined) throw overloaded();
  try {
    return await read(maxBytes);
  } finally {
    hold.giveBack(maxBytes * COPIES);
  }
}

/**
 * Holds an answer of about these bytes, which is there but not written yet. @throws Refusal `overloaded` when there is
 * no room for it
 */
export function takeAnswer(request: FastifyRequest, bytes: number): void {
  if (bytes > SMALL_BYTES) holdOf(request).take(bytes * (COPIES - 1));
}
