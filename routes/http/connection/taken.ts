import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Ledger } from '../../../src/ledger.ts';
import type { Hold, Memory } from '../../../src/memory.ts';
import { callerId } from '../security/clientAddress.ts';
import type { App } from './fastify.ts';
import { type Watcher, watch } from './hangup.ts';

declare module 'fastify' {
  interface FastifyInstance {
    openTaken(request: FastifyRequest): Taken;
  }
  interface FastifyRequest {
    response: ServerResponse | null;
    taken: Taken | null;
  }
}

/*
 * All that is taken for a request is given back here. Two things end it, in any order:
 *
 *   its work ........... the answer is made, also when nobody can read it any more
 *   its connection ..... has taken the whole answer, or has closed
 *
 * A client that ends its connection before has hung up: who waits for it stops at once.
 *
 * Neither alone is enough to give memory back. A client that hangs up does not end a statement that runs for it, and an answer
 * that is made still has to be read.
 */

/** What one request has taken. */
export class Taken implements Watcher {
  readonly #openHold: () => Hold;
  readonly #over: () => void;
  #hold: Hold | undefined;
  #waiting: (() => void)[] = [];
  #isAnswered = false;
  #isLeft = false;
  #isHungUp = false;

  constructor(openHold: () => Hold, over: () => void) {
    this.#openHold = openHold;
    this.#over = over;
  }

  /** What it holds of the memory budget. */
  get hold(): Hold {
    this.#hold ??= this.#openHold();
    return this.#hold;
  }

  /** `gone` is called when the client hangs up, or at once when it has. */
  onHangup(gone: () => void): void {
    if (this.#isHungUp) gone();
    else this.#waiting.push(gone);
  }

  /** Its work has ended. */
  answered(): void {
    // An answer that fails is followed by another one.
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    if (this.#isLeft) this.#giveBack();
  }

  hungUp(): void {
    this.#isHungUp = true;
    for (const gone of this.#waiting.splice(0)) gone();
  }

  left(): void {
    this.#isLeft = true;
    this.#waiting = [];
    if (this.#isAnswered) this.#giveBack();
  }

  #giveBack(): void {
    this.#hold?.release();
    this.#over();
  }
}

/** What a request has taken. Most requests are small and take nothing, so it is made at its first use. */
export function takenOf(request: FastifyRequest): Taken {
  request.taken ??= request.server.openTaken(request);
  return request.taken;
}

export const holdOf = (request: FastifyRequest): Hold => takenOf(request).hold;

/** Calls `gone` when the client hangs up before it has the whole answer, or at once when it has. */
export const onHangup = (request: FastifyRequest, gone: () => void): void => takenOf(request).onHangup(gone);

let pass: Promise<void> | undefined;

/**
 * Resolves when every hang-up that has reached this process is known. Leases are sent only then: a busy process could otherwise
 * send them to a client that has hung up. Between the two immediates, the event loop asks all connections. All answers of one
 * pass of the event loop share one promise.
 */
export function hangupsSeen(): Promise<void> {
  pass ??= new Promise((resolve) => {
    setImmediate(() => {
      pass = undefined;
      setImmediate(resolve);
    });
  });
  return pass;
}

/** Gives back what requests take. */
export function giveBackTaken(app: App, { memory, ledger }: { memory: Memory; ledger: Ledger }): void {
  let open = 0;
  ledger.count('requests', () => open);
  app.decorate('openTaken', (request: FastifyRequest) => {
    open++;
    const taken = new Taken(
      () => memory.hold(callerId(request)),
      () => open--,
    );
    watch(request.raw.socket, request.response as ServerResponse, taken);
    return taken;
  });
  app.decorateRequest('response', null);
  app.decorateRequest('taken', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.response = reply.raw;
    done();
  });
}
