import { useState } from 'preact/hooks';
import { get, may, part } from '../api.ts';
import { count, jobs } from '../format.ts';
import { usePoll } from '../poll.ts';
import { link } from '../route.ts';
import type { Caller, QueueErrors } from '../types.ts';
import { A, Column, Empty, Loading, Stale, Table, When } from '../ui.tsx';
import { BulkDialog } from './bulk.tsx';
import type { Filters } from './filters.ts';

const EVERY_MS = 5000;

/** Why jobs of a queue are dead, with what can be done about each reason. */
export function ErrorsTab({ queue, caller }: { queue: string; caller: Caller | undefined }) {
  const path = `queues/${part(queue)}/errors`;
  const { data, problem } = usePoll(path, async () => (await get<QueueErrors>(path)).body, EVERY_MS);
  const [retried, setRetried] = useState<Filters>();
  if (!data) return problem ? <Stale problem={problem} has={false} /> : <Loading />;
  if (data.errors.length === 0) return <Empty>No dead jobs.</Empty>;
  const isAdmin = may(caller, 'admin', queue);
  return (
    <>
      <Stale problem={problem} has />
      {!data.complete && (
        <p class="quiet">Of the newest {jobs(data.looked_at)} that are dead. Others are not counted here.</p>
      )}
      <Table
        label="Dead jobs by error"
        head={
          <>
            <Column>Error</Column>
            <Column isNumber>Dead jobs</Column>
            <Column>Last</Column>
            <Column>First</Column>
            <Column>
              <span class="unseen">Actions</span>
            </Column>
          </>
        }
      >
        {data.errors.map(({ error, error_contains, newest_job_id, first_at, last_at, ...group }) => {
          const filters = { state: 'dead', error_contains: error_contains ?? '' };
          return (
            <tr data-row key={error}>
              <th scope="row" class="error">
                {error_contains === null ? (
                  <A to={link(['jobs', newest_job_id])}>{error ?? 'no error'}</A>
                ) : (
                  <A to={link(['queues', queue, 'jobs'], filters)}>{error}</A>
                )}
              </th>
              <td class="n">{count(group.count)}</td>
              <td>
                <A to={link(['jobs', newest_job_id])}>
                  <When time={last_at} />
                </A>
              </td>
              <td>
                <When time={first_at} />
              </td>
              <td>
                {isAdmin && error_contains !== null && (
                  <button type="button" class="small" onClick={() => setRetried(filters)}>
                    Retry these…
                  </button>
                )}
              </td>
            </tr>
          );
        })}
      </Table>
      <p class="quiet"># stands for each number and id.</p>
      {retried && <BulkDialog queue={queue} filters={retried} close={() => setRetried(undefined)} />}
    </>
  );
}
