import { get, may, part } from '../api.ts';
import { Do } from '../dialogs.tsx';
import { count } from '../format.ts';
import { usePoll } from '../poll.ts';
import type { Caller, Databases } from '../types.ts';
import { Column, Loading, Stale, StateName, Table } from '../ui.tsx';

const EVERY_MS = 5000;

const HEAD = (
  <>
    <Column>Database</Column>
    <Column>State</Column>
    <Column isNumber>Queues</Column>
    <Column isNumber>Ready</Column>
    <Column isNumber>Leased</Column>
    <Column isNumber>Scheduled</Column>
    <Column isNumber>Dead</Column>
  </>
);

interface RowProps {
  database: Databases['databases'][number];
  /** Undefined where the caller may not. */
  reload: (() => void) | undefined;
}

const Row = ({ database: { name, state, queues, counts }, reload }: RowProps) => (
  <tr>
    <th scope="row">{name}</th>
    <td>
      <StateName state={state} />
    </td>
    <td class="n">{count(queues)}</td>
    <td class="n">{count(counts?.ready)}</td>
    <td class="n">{count(counts?.leased)}</td>
    <td class="n">{count(counts?.scheduled)}</td>
    <td class="n">{count(counts?.dead)}</td>
    {reload && (
      <td>
        {state !== 'away' && (
          <Do
            asks={{
              method: 'PUT',
              path: `databases/${part(name)}`,
              body: { accepts_queues: state === 'closed' },
            }}
            done={reload}
          >
            {state === 'closed' ? 'Open' : 'Close'} {name}
          </Do>
        )}
      </td>
    )}
  </tr>
);

/** The PostgreSQLs behind this Dibs. */
export function DatabasesScreen({ caller }: { caller: Caller | undefined }) {
  const { data, problem, reload } = usePoll(
    'databases',
    async () => (await get<Databases>('databases')).body.databases,
    EVERY_MS,
  );
  const isOffered = may(caller, 'admin') && (data?.length ?? 0) > 1;
  return (
    <main>
      <h1>Databases</h1>
      <p class="quiet">
        The PostgreSQLs behind this Dibs. A closed one gets no new queues; its queues go on. The queues of one
        that is away wait until it is back.
      </p>
      <Stale problem={problem} has={data !== undefined} />
      {!data && !problem && <Loading />}
      {data && (
        <Table
          label="Databases"
          head={
            <>
              {HEAD}
              {isOffered && <Column>New queues</Column>}
            </>
          }
        >
          {data.map((database) => (
            <Row
              key={database.name}
              database={database}
              reload={isOffered ? () => void reload() : undefined}
            />
          ))}
        </Table>
      )}
    </main>
  );
}
