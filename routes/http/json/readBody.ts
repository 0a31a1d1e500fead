import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { COPIES, SMALL_BYTES } from '../../../src/memory.ts';
import { createTurns } from '../../../src/slices.ts';
import { payloadTooLarge } from '../answers/invalidPart.ts';
import { wholeBody } from '../answers/refusalOf.ts';
import { holdOf } from '../connection/taken.ts';

const KIB = 1024;
const inWords = (bytes: number) =>
  bytes >= KIB * KIB ? `${Math.round((bytes / KIB / KIB) * 10) / 10} MiB` : `${Math.round(bytes / KIB)} KiB`;

/** A client that sends tiny chunks waits for its turn after this number of them, which takes some milliseconds. */
const MOST_CHUNKS = 1000;
/** Between two such turns. So all these clients together leave most of the time to others. */
const REST_MS = 10;
/** Meanwhile up to 64 KiB wait in the stream. In chunks of one byte they take 500 bytes each. */
const WAITING_CHUNKS_BYTES = 32 * KIB * KIB;
/** Larger ones do not count as tiny. */
const TINY_CHUNK = KIB;

const EMPTY = Buffer.alloc(0);

const turn = createTurns(() => sleep(REST_MS));

/**
 * The bytes of a body as they arrive. They are copied into one buffer, because each chunk would cost an object, and a
 * client may send chunks of one byte. Memory is taken before it is used.
 */
class Arriving {
  readonly #request: FastifyRequest;
  /** Its length, if the client told it. */
  readonly #expected: number | undefined;
  #heldAsSmall = 0;
  #heldAsLarge = 0;
  #capacity = 0;
  #buffer: Buffer | undefined;
  #length = 0;

  constructor(request: FastifyRequest) {
    this.#request = request;
    const declared = request.headers['content-length'];
    this.#expected = declared === undefined ? undefined : Number(declared);
  }

  /** @throws Refusal, before anything is read, for a body that is too large or has no room */
  begin(): void {
    const expected = this.#expected ?? 0;
    this.#check(expected);
    // A small body takes what has arrived of it: a client that sends only heads must not use up the room for small ones.
    if (expected > SMALL_BYTES) this.#reserve(expected);
  }

  #check(length: number): void {
    const limit = this.#request.route.bodyLimit;
    if (length > limit)
      throw payloadTooLarge(`The body is larger than ${inWords(limit)}, the limit of this route.`);
  }

  /** Takes room for this number of bytes in all: a large body until the request is answered, a small one while it arrives. */
  #reserve(capacity: number): void {
    if (capacity <= SMALL_BYTES) {
      holdOf(this.#request).take(capacity - this.#heldAsSmall, 'small');
      this.#heldAsSmall = capacity;
    } else {
      holdOf(this.#request).take(capacity * COPIES - this.#heldAsLarge);
      this.#heldAsLarge = capacity * COPIES;
    }
    this.#capacity = capacity;
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#buffer === undefined && chunk.length <= SMALL_BYTES && length === this.#expected) {
      // Nearly every body is small, and arrives at once.
      this.#buffer = chunk;
    } else {
      this.#check(length);
      if (length > this.#capacity) {
        const limit = this.#expected ?? this.#request.route.bodyLimit;
        this.#reserve(Math.min(limit, Math.max(length, 2 * this.#capacity)));
      }
      this.#copy(chunk);
    }
    this.#length = length;
  }

  #copy(chunk: Buffer): void {
    const old = this.#buffer;
    if (old === undefined || old.length < this.#capacity) {
      this.#buffer = Buffer.allocUnsafeSlow(this.#capacity);
      old?.copy(this.#buffer, 0, 0, this.#length);
    }
    chunk.copy(this.#buffer as Buffer, this.#length);
  }

  get isWhole(): boolean {
    return this.#expected === undefined || this.#length === this.#expected;
  }

  /** The bytes that arrived. No more will. */
  end(): Buffer {
    if (this.#heldAsSmall > 0) holdOf(this.#request).giveBack(this.#heldAsSmall, 'small');
    return this.#buffer?.subarray(0, this.#length) ?? EMPTY;
  }
}

/** Reads the body of a request, and passes it to `done`. Before a byte of it is read, it must have room in the memory budget. */
export function readBody(request: FastifyRequest, done: (error: Error | null, body?: Buffer) => void): void {
  const { raw } = request;
  const body = new Arriving(request);

  function end(error: Error | null): void {
    raw.off('data', add).off('end', whole).off('close', gone);
    const bytes = body.end();
    if (error) done(error);
    else done(null, bytes);
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
  const whole = () => end(body.isWhole ? null : wholeBody('must have the length that content-length says'));
  const gone = () => end(wholeBody('must arrive whole'));

  // A client may be gone before its body is read. Its stream says no more then.
  if (raw.destroyed) {
    gone();
    return;
  }
  try {
    body.begin();
  } catch (error) {
    end(error as Error);
    return;
  }
  // A broken connection ends with `close`, too.
  raw.on('data', add).on('end', whole).on('close', gone);
  raw.resume();
}
