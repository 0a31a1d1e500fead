import { gathering } from '../postgres/gathering.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import type { AuditRow, TracedOrigin } from '../verbs/keys.ts';

/** What is noted of an act. */
export type Line = Omit<AuditRow, 'id' | 'created_at'> & TracedOrigin;

const insert = planned('access/audit_insert');

/** One statement writes this number of rows. */
const MOST_TOGETHER = 1000;

/** Writes the rows of the audit, many with one statement. A row that cannot be written fails nothing: it is logged. */
export function createAuditRows(db: Db, log: (error: unknown, message: string) => void) {
  /** The rows that are not written yet. */
  const pending = new Set<Promise<void>>();

  const write = gathering(MOST_TOGETHER, async (lines: Line[]) => {
    await db.query(insert, {
      actors: lines.map(({ actor }) => actor),
      actor_ids: lines.map(({ actor_id }) => actor_id),
      verbs: lines.map(({ verb }) => verb),
      queues: lines.map(({ queue }) => queue),
      job_ids: lines.map(({ job_id }) => job_id),
      schedules: lines.map(({ schedule }) => schedule),
      key_ids: lines.map(({ key_id }) => key_id),
      databases: lines.map(({ database }) => database),
      counts: lines.map(({ count }) => count),
      outcomes: lines.map(({ outcome }) => outcome),
      addresses: lines.map(({ address }) => address),
      request_ids: lines.map(({ request_id }) => request_id),
      details: lines.map(({ details }) => JSON.stringify(details)),
    });
    return lines;
  });

  return {
    /** Settles when the row is written, or could not be. */
    keep(line: Line): Promise<void> {
      const kept = write(line)
        .then(
          () => undefined,
          (error) => log(error, 'an audit row was not written'),
        )
        .finally(() => pending.delete(kept));
      pending.add(kept);
      return kept;
    },

    /** Settles when all rows are written, or could not be. */
    async idle(): Promise<void> {
      await Promise.all(pending);
    },
  };
}
