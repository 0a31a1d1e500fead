import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { overloaded } from '../../src/errors.ts';
import { COPIES, type Hold, type Memory, SMALL_BYTES, WAITING_BYTES } from '../../src/memory.ts';
import { inSlices, utf8Of } from '../../src/slices.ts';
import type { App } from './fastify.ts';

declare module 'fastify' {
  interface FastifyInstance {
    memory: Memory;
  }
  interface FastifyRequest {
    response: ServerResponse | null;
    held: Held | null;
  }
}

/**
 * What a request holds of the memory budget. It is given back when the request is answered and the connection has taken
 * the answer or is gone. A client that hangs up does not end the work on its request, so neither alone is enough.
 */
interface Held {
  hold: Hold;
  isAnswered: boolean;
  isClosed: boolean;
}

/** Larger answers are encoded in slices. */
const LARGE_ANSWER = 128 * 1024;

function settle(held: Held): void {
  if (held.isAnswered && held.isClosed) held.hold.release();
}

function answered({ held }: FastifyRequest): void {
  if (!held) return;
  held.isAnswered = true;
  settle(held);
}

/** The hold of a request. Most requests are small and need none, so it is made at its first use. */
export function holdOf(request: FastifyRequest): Hold {
  if (request.held) return request.held.hold;
  const response = request.response as ServerResponse;
  const held: Held = { hold: request.server.memory.hold(), isAnswered: false, isClosed: response.closed };
  request.held = held;
  response.once('close', () => {
    held.isClosed = true;
    settle(held);
  });
  return held.hold;
}

/** Holds what a request takes that waits. @throws Refusal `overloaded` when there is no room for it */
export const takeWait = (request: FastifyRequest): void => holdOf(request).take(WAITING_BYTES, 'waiting');

/** Holds what each answer takes, from the moment at which it is written. */
export function holdAnswers(app: App, memory: Memory): void {
  app.decorate('memory', memory);
  app.decorateRequest('response', null);
  app.decorateRequest('held', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.response = reply.raw;
    done();
  });
  app.addHook('onSend', (request, _, payload, done) => {
    if (typeof payload === 'string' && payload.length > SMALL_BYTES) {
      holdOf(request).add(payload.length);
      // For a string, Node takes three times its length, and fills that with zeros first.
      if (payload.length > LARGE_ANSWER) {
        void inSlices(utf8Of(payload)).then((bytes) => {
          answered(request);
          done(null, bytes);
        });
        return;
      }
    }
    answered(request);
    done(null, payload);
  });
}

/**
 * Reads up to `wish` bytes from the database for an answer: `read` is told how many. @throws Refusal `overloaded` when
 * there is no room
 */
export async function withRoom<T>(
  { server }: FastifyRequest,
  wish: number,
  read: (maxBytes: number) => Promise<T>,
): Promise<T> {
  const hold = server.memory.hold();
  try {
    const maxBytes = hold.takeUpTo(wish);
    if (maxBytes === undefined) throw overloaded();
    return await read(maxBytes);
  } finally {
    hold.release();
  }
}

/**
 * Holds an answer of about these bytes, which is there but not written yet. @throws Refusal `overloaded` when there is
 * no room for it
 */
export function takeAnswer(request: FastifyRequest, bytes: number): void {
  if (bytes > SMALL_BYTES) holdOf(request).take(bytes * (COPIES - 1));
}
