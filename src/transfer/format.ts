import { createHash, type Hash } from 'node:crypto';
import { queueIdOf } from '../ids.ts';
import { JOB_STATES } from '../job.ts';
import { latest } from '../postgres/migrations.ts';
import { FileError, type Line } from './lines.ts';

/*
 * The file of an export: JSON, one object on each line (NDJSON). The first is the header. Then come queues, access keys if they
 * were asked for, unique windows, batches, jobs, jobs on their way from one database to another (`relay`), the followers of
 * batches, how far the batches are, and schedules. The last line tells the number of lines before it and the SHA-256 of all
 * their bytes. So a file that was cut short or changed is noticed.
 * A batch comes before its jobs, and whether it is closed behind all jobs and followers: so an import ends none too early.
 * JSON of users (payload, headers, result, ...) is a string that holds its text. So it comes back as it was sent.
 */

export interface Header {
  kind: 'header';
  dibs_export: number;
  id: string;
  migration: number;
  positions: number;
  jobs: number;
}

/** A queue that nobody has created yet, for which jobs are on their way, has no more than this. */
export interface QueueLine {
  kind: 'queue';
  id: number;
  name: string;
  paused: boolean;
  created_at?: string;
  paused_groups?: string[];
  /** The numbers of queues that share batches with it: all of them go into one database. */
  together?: number[];
}

export const KINDS = [
  'queue',
  'key',
  'window',
  'batch',
  'job',
  'relay',
  'follower',
  'batch_state',
  'schedule',
] as const;
export type Kind = (typeof KINDS)[number];

export interface End {
  kind: 'end';
  lines: number;
  sha256: string;
}

// biome-ignore lint/suspicious/noExplicitAny: the line of a file may be anything.
type Any = any;

/** What belongs to a queue. */
export interface OfQueueLine {
  kind: 'window' | 'batch' | 'job' | 'relay' | 'follower' | 'batch_state';
  queue_id: number;
}

export type Parsed = Header | QueueLine | OfQueueLine | End | { kind: 'key' | 'schedule' };

/** Files of format 1 have no batches. */
const FORMAT = 2;

/** An id names its queue. */
const isOf = (queueId: number, id: unknown) => queueIdOf(String(id)) === queueId;

/** Why a line cannot be of its kind. Undefined when it can. PostgreSQL looks closer. */
const WRONG: Record<Kind, (line: Any, queues: Map<number, string>) => boolean> = {
  queue: ({ id, name, paused }) =>
    !Number.isInteger(id) || typeof name !== 'string' || typeof paused !== 'boolean',
  key: ({ id, hash }) => typeof id !== 'string' || !/^[0-9a-f]{64}$/.test(hash),
  window: ({ queue_id, unique_key }, queues) => !queues.has(queue_id) || typeof unique_key !== 'string',
  batch: ({ queue_id, id, completed }, queues) =>
    !queues.has(queue_id) || !isOf(queue_id, id) || !Number.isInteger(completed),
  job: ({ queue_id, id, state, payload, position }, queues) =>
    !queues.has(queue_id) ||
    !isOf(queue_id, id) ||
    !JOB_STATES.includes(state) ||
    typeof payload !== 'string' ||
    !Number.isInteger(position),
  relay: ({ queue_id, id, created_at, job, moved }, queues) =>
    !queues.has(queue_id) ||
    !isOf(queue_id, id) ||
    typeof created_at !== 'string' ||
    typeof (job ?? moved) !== 'string',
  follower: ({ queue_id, batch_id, queue, payload }, queues) =>
    !queues.has(queue_id) ||
    !isOf(queue_id, batch_id) ||
    typeof queue !== 'string' ||
    typeof payload !== 'string',
  batch_state: ({ queue_id, id, succeeded }, queues) =>
    !queues.has(queue_id) || !isOf(queue_id, id) || typeof succeeded !== 'boolean',
  schedule: ({ name, cron }) => typeof name !== 'string' || typeof cron !== 'string',
};

function parse({ number, bytes, isWhole }: Line): Any {
  if (!isWhole) throw new FileError(number, 'is cut short. The file is not whole');
  let parsed: Any;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new FileError(
      number,
      'is not valid JSON in UTF-8. The file is not an export of Dibs, or it is damaged',
    );
  }
  if (typeof parsed !== 'object' || parsed === null || typeof parsed.kind !== 'string')
    throw new FileError(number, 'is not a line of an export of Dibs');
  return parsed;
}

function checkHeader(header: Any): void {
  if (header.kind !== 'header' || !Number.isInteger(header.dibs_export) || typeof header.id !== 'string')
    throw new FileError(1, 'is not the header of an export of Dibs');
  if (header.dibs_export > FORMAT || header.migration > latest)
    throw new FileError(1, `says that a newer Dibs (${header.version}) made this file. Use that version`);
}

/** Looks at the lines of a file one after the other. */
export function createChecker() {
  const hash: Hash = createHash('sha256');
  const queues = new Map<number, string>();
  let last = 0;
  let hasEnded = false;
  let stage = 0;

  function checkEnd({ number }: Line, { lines, sha256 }: End): void {
    if (lines !== number - 1)
      throw new FileError(number, `says that ${lines} lines stand before it, and there are ${number - 1}`);
    if (sha256 !== hash.digest('hex'))
      throw new FileError(number, 'has another checksum than the file. Something before it was changed');
    hasEnded = true;
  }

  return {
    /** @throws FileError */
    next(line: Line): Parsed {
      last = line.number;
      if (hasEnded) throw new FileError(last, 'stands behind the end of the export');
      const parsed = parse(line);
      if (last === 1) checkHeader(parsed);
      else if (parsed.kind === 'end') {
        checkEnd(line, parsed);
        return parsed;
      } else {
        const at = KINDS.indexOf(parsed.kind);
        if (at < stage) throw new FileError(last, 'is not a line of an export of Dibs, or not in its place');
        stage = at;
        if (WRONG[parsed.kind as Kind](parsed, queues))
          throw new FileError(last, `is no ${parsed.kind} of an export of Dibs`);
        if (parsed.kind === 'queue') queues.set(parsed.id, parsed.name);
      }
      hash.update(line.bytes).update('\n');
      return parsed;
    },

    /** @throws FileError when the end has not come */
    end(): void {
      if (last === 0) throw new FileError(1, 'is missing: the file is empty');
      if (!hasEnded) throw new FileError(last, 'is the last one. The end of the export is missing');
    },
  };
}
