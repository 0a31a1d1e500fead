import type { FastifyRequest } from 'fastify';
import { payloadTooLarge } from '../../src/errors.ts';
import { COPIES, SMALL_BYTES } from '../../src/memory.ts';
import { holdOf } from './memory.ts';
import { lingerAfterAnswer } from './nodeRefusals.ts';
import { wholeBody } from './refusalOf.ts';
import { createTurns } from './slices.ts';

const KIB = 1024;
const inWords = (bytes: number) =>
  bytes >= KIB * KIB ? `${Math.round((bytes / KIB / KIB) * 10) / 10} MiB` : `${Math.round(bytes / KIB)} KiB`;

/**
 * A client that sends tiny chunks waits for its turn after this number of them. Up to 16,384 chunks of one byte wait in the
 * stream meanwhile.
 */
const MOST_CHUNKS = 1000;
const WAITING_CHUNKS_BYTES = 2 * KIB * KIB;

const turn = createTurns();

/**
 * The bytes of a body as they arrive. They are copied into one buffer, because each chunk would cost an object, and a
 * client may send chunks of one byte. Memory is taken before it is used.
 */
class Arriving {
  readonly #limit: number;
  readonly #take: (bytes: number) => void;
  /** Where the length is known, it is the capacity from the start. */
  #capacity: number;
  #buffer: Buffer | undefined;
  length = 0;

  constructor(length: number | undefined, limit: number, take: (bytes: number) => void) {
    this.#limit = limit;
    this.#take = take;
    this.#capacity = length ?? SMALL_BYTES;
    this.#check(length ?? 0);
    take(this.#capacity);
  }

  #check(length: number): void {
    if (length > this.#limit)
      throw payloadTooLarge(`The body is larger than ${inWords(this.#limit)}, the limit of this route.`);
  }

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    this.#check(length);
    if (length > this.#capacity) {
      const capacity = Math.min(this.#limit, Math.max(length, 2 * this.#capacity));
      this.#take(capacity - this.#capacity);
      this.#capacity = capacity;
      const old = this.#buffer;
      this.#buffer = Buffer.allocUnsafeSlow(capacity);
      old?.copy(this.#buffer, 0, 0, this.length);
    }
    this.#buffer ??= chunk.length === this.#capacity ? chunk : Buffer.allocUnsafeSlow(this.#capacity);
    if (this.#buffer !== chunk) chunk.copy(this.#buffer, this.length);
    this.length = length;
  }

  bytes(): Buffer {
    return this.#buffer?.subarray(0, this.length) ?? Buffer.alloc(0);
  }
}

/**
 * Reads the body of a request, and passes it to `done`. Before a byte of it is read, it must have room in the memory budget:
 * a large body until the request is answered, a small one while it arrives.
 */
export function readBody(request: FastifyRequest, done: (error: Error | null, body?: Buffer) => void): void {
  const { raw } = request;
  const declared = request.headers['content-length'];
  const expected = declared === undefined ? undefined : Number(declared);
  const arrival = request.server.memory.hold();
  let capacity = 0;
  let heldAsLarge = 0;
  function take(bytes: number): void {
    capacity += bytes;
    if (capacity <= SMALL_BYTES) {
      arrival.take(bytes, 'small');
      return;
    }
    holdOf(request).take(capacity * COPIES - heldAsLarge);
    heldAsLarge = capacity * COPIES;
  }

  function refuse(error: Error): void {
    lingerAfterAnswer(raw.socket);
    done(error);
  }

  let body: Arriving;
  function end(error: Error | null): void {
    raw.off('data', add).off('end', whole).off('error', end).off('close', gone);
    arrival.release();
    if (error) refuse(error);
    else done(null, body.bytes());
  }
  let chunks = 0;
  function add(chunk: Buffer): void {
    chunks++;
    try {
      if (chunks === MOST_CHUNKS) holdOf(request).take(WAITING_CHUNKS_BYTES);
      if (chunks % MOST_CHUNKS === 0) {
        raw.pause();
        void turn().then(() => raw.resume());
      }
      body.add(chunk);
    } catch (error) {
      end(error as Error);
    }
  }
  function whole(): void {
    const isWhole = expected === undefined || body.length === expected;
    end(isWhole ? null : wholeBody('must have the length that content-length says'));
  }
  const gone = () => end(wholeBody('must arrive whole'));

  try {
    body = new Arriving(expected, request.routeOptions.bodyLimit, take);
  } catch (error) {
    arrival.release();
    refuse(error as Error);
    return;
  }
  raw.on('data', add).on('end', whole).on('error', end).on('close', gone);
  raw.resume();
}
