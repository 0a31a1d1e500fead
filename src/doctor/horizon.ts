import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import { FAR_ABOVE, type Finding, lasting, ok, problem, sized, type Thresholds, warning } from './finding.ts';
import { looking, type Patient } from './patient.ts';

interface Holder {
  kind: 'transaction' | 'standby' | 'prepared' | 'slot';
  name: string;
  role: string | null;
  database: string | null;
  application: string | null;
  state: string | null;
  seconds: number | null;
  age: number | null;
}

const statements = {
  horizon: planned('doctor/horizon', row<Omit<Holder, 'kind'> & { kind: string }>()),
  slots: planned('doctor/slots'),
};

function described({ kind, name, role, database, application, state, seconds, age }: Holder): string {
  const since =
    seconds === null ? `for ${age} transactions` : `for ${lasting(seconds)} (${age} transactions)`;
  const where = database === null ? '' : `, database ${database}`;
  if (kind === 'slot') return `The replication slot ${name} (${state}) holds the horizon ${since}.`;
  if (kind === 'prepared') return `The prepared transaction "${name}" of ${role}${where} is open ${since}.`;
  if (kind === 'standby')
    return `A standby (${application ?? 'unnamed'}, process ${name}) holds the horizon ${since}, by hot_standby_feedback.`;
  return `A transaction of ${role} (process ${name}, ${application ?? 'unnamed'}, ${state ?? 'state hidden'}${where}) is open ${since}.`;
}

function remedy({ kind, name }: Holder): string {
  if (kind === 'slot')
    return `If its reader is gone: select pg_drop_replication_slot('${name}'). If not, end the old query on that standby.`;
  if (kind === 'prepared') return `Connect to its database: rollback prepared '${name}', or commit prepared.`;
  if (kind === 'standby')
    return 'End the old query on that standby, or set max_standby_streaming_delay there.';
  return `If nobody needs it: select pg_terminate_backend(${name}). Set idle_in_transaction_session_timeout.`;
}

function levelOf({ seconds, age }: Holder, { heldSeconds, heldTransactions }: Thresholds): number {
  return seconds === null ? (age ?? 0) / heldTransactions : seconds / heldSeconds;
}

const MEANING = 'Autovacuum cannot clear rows that died since. The tables grow, and counts get slower.';

/** Who keeps autovacuum from its work. */
export async function checkHorizon({ client, thresholds }: Patient): Promise<Finding[]> {
  const holders = (await looking(client, () => rowsOf(client, statements.horizon))) as Holder[];
  const old = holders.filter((holder) => levelOf(holder, thresholds) >= 1);
  if (old.length === 0) {
    const [oldest] = holders;
    return [ok('horizon', oldest ? `Nothing holds it for long. ${described(oldest)}` : 'Nothing holds it.')];
  }
  return old.map((holder) =>
    (levelOf(holder, thresholds) >= FAR_ABOVE ? problem : warning)(
      'horizon',
      described(holder),
      MEANING,
      remedy(holder),
    ),
  );
}

/** A slot that nobody reads keeps WAL until the disk is full. */
export async function checkSlots({ client }: Patient): Promise<Finding[]> {
  const slots = await looking(client, () => rowsOf(client, statements.slots));
  if (slots.length === 0) return [ok('replication_slots', 'No replication slot is without a reader.')];
  return slots.map(({ name, bytes }) =>
    warning(
      'replication_slots',
      `Nobody reads the replication slot ${name}. It keeps ${sized(bytes ?? 0)} of WAL.`,
      'The server keeps all WAL for it, until the disk is full and the database stops.',
      `Start its reader, or drop it: select pg_drop_replication_slot('${name}').`,
    ),
  );
}
