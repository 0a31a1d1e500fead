import { get, query } from '../api.ts';
import { count } from '../format.ts';
import { usePoll } from '../poll.ts';
import { link } from '../route.ts';
import type { Workers } from '../types.ts';
import { A, Away, Column, Empty, Loading, QueueLink, Stale, Table, When } from '../ui.tsx';

const EVERY_MS = 5000;
/** A worker may have jobs of very many queues. */
const MOST_QUEUES = 5;

/** Who has leases now, of one queue or of all. */
export function WorkerList({ queue }: { queue?: string }) {
  const path = `workers${query({ queue })}`;
  const { data, problem } = usePoll(path, async () => (await get<Workers>(path)).body, EVERY_MS);
  if (!data) return problem ? <Stale problem={problem} has={false} /> : <Loading />;
  return (
    <>
      <Stale problem={problem} has />
      <Away of={data.away} />
      {data.workers.length === 0 && (
        <Empty>No worker has a job now. Workers without a lease are not seen.</Empty>
      )}
      {data.workers.length > 0 && (
        <Table
          label="Workers"
          head={
            <>
              <Column>Worker</Column>
              <Column isNumber>Leased</Column>
              <Column>Since</Column>
              <Column>Lease expires</Column>
              {queue === undefined && <Column>Queues</Column>}
            </>
          }
        >
          {data.workers.map(({ worker, leased, queues, since, next_lease_expires_at }) => (
            <tr data-row key={worker}>
              <th scope="row">
                <A to={link(['jobs'], { state: 'leased', worker: worker ?? '', queue: queue ?? '' })}>
                  {worker ?? 'without a name'}
                </A>
              </th>
              <td class="n">{count(leased)}</td>
              <td>
                <When time={since} />
              </td>
              <td>
                <When time={next_lease_expires_at} />
              </td>
              {queue === undefined && (
                <td>
                  {queues.slice(0, MOST_QUEUES).map((name) => (
                    <span key={name}>
                      <QueueLink name={name} />{' '}
                    </span>
                  ))}
                  {queues.length > MOST_QUEUES && `and ${queues.length - MOST_QUEUES} more`}
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
      {(!data.complete || data.total > data.workers.length) && (
        <p class="quiet">
          {count(data.workers.length)} of at least {count(data.total)} workers: those with most leases.
        </p>
      )}
    </>
  );
}

export const WorkersScreen = () => (
  <main>
    <h1>Workers</h1>
    <p class="quiet">Workers that have jobs now, by the name that their claims give.</p>
    <WorkerList />
  </main>
);
