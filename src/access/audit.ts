import type { Caller } from '../caller.ts';
import { invalidRequest, isOutage } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { timeForPostgres } from '../postgres/times.ts';
import type { AuditFilter, AuditRow, TracedOrigin } from '../verbs/keys.ts';
import type { VerbName } from '../verbs.ts';
import { createAuditRows, type Line } from './auditRows.ts';
import type { Subject } from './needs.ts';

type LogAct = (fields: Record<string, unknown>, message: string) => void;

const list = planned('access/audit_list', row<Omit<AuditRow, 'details'> & { details: string }>());

/** An act is answered this long after it is done, though its row may not be written yet. */
const LONGEST_WAIT_MS = 1000;
/** No row holds up an answer for longer than this after the call: every call should be answered within 5 s. */
const LONGEST_CALL_MS = 4800;
/** Refused acts, of all callers together, leave at most this number of lines in 10 s. */
const REFUSED_LINES = 100;
const WINDOW_MS = 10_000;
/** Names of callers come from keys and tokens. */
const LONGEST_NAME = 256;

/** A path may say anything in place of an id. */
const idOf = (text: string | undefined) => (text !== undefined && isUuid(text) ? text : undefined);

const clip = (text: string) => text.replaceAll('\0', '').slice(0, LONGEST_NAME);

/** @throws Refusal `invalid_request` for a time that does not exist, such as a leap second */
function timeOf(filter: AuditFilter, name: 'created_after' | 'created_before'): string | null {
  const text = filter[name];
  if (text === undefined) return null;
  const time = timeForPostgres(text);
  if (time === undefined) throw invalidRequest([{ path: `/${name}`, message: 'must be a time that exists' }]);
  return time;
}

function lineOf(
  caller: Caller,
  { address, request_id, trace_id }: TracedOrigin,
  verb: VerbName,
  subject: Subject,
): Line {
  const { queue = null, job_id, schedule = null, key_id = null, database = null, count = null } = subject;
  const { batch_id, operation_id, ...details } = subject.details ?? {};
  return {
    actor: clip(caller.name),
    actor_id: caller.id === undefined ? null : clip(caller.id),
    verb,
    queue,
    job_id: idOf(job_id) ?? null,
    schedule,
    key_id: key_id === null ? null : clip(key_id),
    database: database === null ? null : clip(database),
    count,
    outcome: 'done',
    address: address === null ? null : clip(address),
    request_id: request_id === null ? null : clip(request_id),
    details: { ...details, batch_id: idOf(batch_id), operation_id: idOf(operation_id) },
    ...(trace_id !== undefined && { trace_id }),
  };
}

/**
 * Logs acts that their callers may not do. They leave a line, and no row: their rows would push out those of acts that
 * were done.
 */
function createRefusedLines(logAct: LogAct) {
  let window = { ends: 0, refused: 0 };
  return (line: Line): void => {
    const now = performance.now();
    if (now > window.ends) {
      const more = window.refused - REFUSED_LINES;
      if (more > 0) logAct({ count: more }, 'audit: more acts were refused');
      window = { ends: now + WINDOW_MS, refused: 0 };
    }
    if (++window.refused <= REFUSED_LINES) logAct({ ...line }, 'audit');
  };
}

/** Settles with `work`, or when the answer to a call that began at `started` must not wait any longer. */
async function orLate(work: Promise<void>, started: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    const left = LONGEST_CALL_MS - (performance.now() - started);
    timer = setTimeout(resolve, Math.min(Math.max(left, 0), LONGEST_WAIT_MS));
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** Logs each act that needs the scope `admin`, and keeps a row of it. Never fails an act. */
export function createAudit(context: { db: Db; log(error: unknown, message: string): void; logAct: LogAct }) {
  const { db, log, logAct } = context;
  const rows = createAuditRows(db, log);
  const logRefused = createRefusedLines(logAct);

  return {
    /**
     * Notes an act that began at `started`, and was done, or failed with `error`. Settles when its row is written, or
     * when the answer must not wait any longer.
     */
    async note(
      caller: Caller,
      origin: TracedOrigin,
      verb: VerbName,
      subject: Subject,
      started: number,
      failure?: { error: unknown },
    ): Promise<void> {
      const line = lineOf(caller, origin, verb, subject);
      if (failure) line.outcome = (failure.error as { code?: string } | null)?.code ?? 'failed';
      if (line.outcome === 'forbidden') {
        logRefused(line);
        return;
      }
      logAct({ ...line }, 'audit');
      const kept = rows.keep(line);
      // The database is away, and the caller has waited for it once already.
      if (failure && isOutage(failure.error)) return;
      await orLate(kept, started);
    },

    idle: rows.idle,

    /** A page of audit rows, newest first. A page shorter than its limit is the last one. */
    list: async (filter: AuditFilter): Promise<AuditRow[]> => {
      const rows = await db.query(list, {
        limit: filter.limit,
        after: filter.after === undefined ? null : Number(filter.after),
        actor: filter.actor ?? null,
        verb: filter.verb ?? null,
        queue: filter.queue ?? null,
        created_after: timeOf(filter, 'created_after'),
        created_before: timeOf(filter, 'created_before'),
      });
      return rows.map((row) => ({ ...row, details: JSON.parse(row.details) }));
    },
  };
}

export type Audit = ReturnType<typeof createAudit>;
