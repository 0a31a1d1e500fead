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

/** A client that sends tiny chunks waits for its turn after this number of them. */
const MOST_CHUNKS = 1000;
/** Meanwhile up to 64 KiB wait in the stream. In chunks of one byte they take 500 bytes each. */
const WAITING_CHUNKS_BYTES = 32 * KIB * KIB;
/** Larger ones do not count as tiny. */
const TINY_CHUNK = KIB;

const turn = createTurns();

/**
 * The bytes of a body as they arrive. They are copied into one buffer, because each chunk would cost an object, and a
 * client may send chunks of one byte. Memory is taken before it is used.
 */
class Arriving {
  readonly #expected: number | undefined;
  readonly #limit: number;
  readonly #take: (bytes: number) => void;
  #capacity = 0;
  #buffer: Buffer | undefined;
  length = 0;

  constructor(expected: number | undefined, limit: number, take: (bytes: number) => void) {
    this.#expected = expected;
    this.#limit = limit;
    this.#take = take;
    this.#check(expected ?? 0);
    // A small body takes what has arrived of it: a client that sends only heads must not use up the room for small ones.
    if (expected !== undefined && expected > SMALL_BYTES) this.#reserve(expected);
  }

  #check(length: number): void {
    if (length > this.#limit)
      throw payloadTooLarge(`The body is larger than ${inWords(this.#limit)}, the limit of this route.`);
  }

  #reserve(capacity: number): void {
    this.#take(capacity - this.#capacity);
    this.#capacity = capacity;
  }

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    this.#check(length);
    if (this.length === 0 && this.#capacity === 0) {
      this.#reserve(length);
      this.#buffer = chunk;
    } else {
      if (length > this.#capacity)
        this.#reserve(Math.min(this.#expected ?? this.#limit, Math.max(length, 2 * this.#capacity)));
      this.#copy(chunk);
    }
    this.length = length;
  }

  #copy(chunk: Buffer): void {
    const old = this.#buffer;
    if (old === undefined || old.length < this.#capacity) {
      this.#buffer = Buffer.allocUnsafeSlow(this.#capacity);
      old?.copy(this.#buffer, 0, 0, this.length);
    }
    chunk.copy(this.#buffer as Buffer, this.length);
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
  let tinyChunks = 0;
  function add(chunk: Buffer): void {
    try {
      if (chunk.length < TINY_CHUNK && ++tinyChunks % MOST_CHUNKS === 0) {
        if (tinyChunks === MOST_CHUNKS) holdOf(request).take(WAITING_CHUNKS_BYTES);
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
