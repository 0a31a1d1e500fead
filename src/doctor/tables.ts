import { rowsOf } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import { type Finding, lasting, ok, problem, sized, warning } from './finding.ts';
import { looking, type Patient } from './patient.ts';

const statements = { tables: planned('doctor/tables'), indexes: planned('doctor/indexes') };

/** An index that is used for a while takes up to three times what its entries need. */
const BLOAT = 5;

/** Whether autovacuum keeps up with the tables of Dibs. */
export async function checkTables({ client, thresholds }: Patient): Promise<Finding[]> {
  const rows = await looking(client, () => rowsOf(client, statements.tables));
  const findings: Finding[] = [];
  for (const { name, live, dead, allowed, is_vacuumed, vacuumed_seconds, bytes } of rows) {
    if (!is_vacuumed)
      findings.push(
        problem(
          'dead_rows',
          `Autovacuum is off for dibs.${name}.`,
          'Nobody clears its dead rows. It grows with every job.',
          `Run: alter table dibs.${name} reset (autovacuum_enabled)`,
        ),
      );
    if ((dead ?? 0) <= thresholds.deadRows + 2 * (allowed ?? 0)) continue;
    const last = vacuumed_seconds === null ? 'never' : `${lasting(vacuumed_seconds)} ago`;
    findings.push(
      warning(
        'dead_rows',
        `dibs.${name} has ${dead} dead rows beside ${live} live ones (${sized(bytes ?? 0)}), and was last vacuumed ${last}.`,
        'Autovacuum does not keep up, or something holds the horizon. Claims stay quick, counts and purges do not.',
        `See "horizon" first. Then: vacuum dibs.${name}. If it comes again, lower autovacuum_vacuum_cost_delay, or raise autovacuum_max_workers.`,
      ),
    );
  }
  const dead = rows.reduce((sum, row) => sum + (row.dead ?? 0), 0);
  const bytes = rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
  return findings.length > 0
    ? findings
    : [ok('dead_rows', `The tables have ${dead} dead rows and ${sized(bytes)}.`)];
}

/** Whether all indexes are whole, and about as large as what is in them. */
export async function checkIndexes({ client, thresholds }: Patient): Promise<Finding[]> {
  const rows = await looking(client, () => rowsOf(client, statements.indexes));
  const invalid = rows.filter((row) => !row.is_valid);
  const bloated = rows.filter(
    ({ bytes, needed }) => (bytes ?? 0) > thresholds.indexBytes && (bytes ?? 0) > BLOAT * (needed ?? 0),
  );
  const findings = [
    ...invalid.map(({ name }) =>
      problem(
        'indexes',
        `The index dibs.${name} is not valid.`,
        'Its making was broken off. It costs at every write, and no statement uses it.',
        `If it was there before: reindex index concurrently dibs.${name}. Else drop it.`,
      ),
    ),
    ...bloated.map(({ name, bytes, entries, needed }) =>
      warning(
        'indexes',
        `The index dibs.${name} has ${sized(bytes ?? 0)} for ${entries} entries, which need about ${sized(needed ?? 0)}.`,
        'The rest is dead entries, or pages that PostgreSQL will use again. It costs disk and cache.',
        `See "horizon" and "dead_rows" first. Then: reindex index concurrently dibs.${name}.`,
      ),
    ),
  ];
  const bytes = rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
  return findings.length > 0 ? findings : [ok('indexes', `${rows.length} indexes have ${sized(bytes)}.`)];
}
