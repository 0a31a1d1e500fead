import { useEffect, useState } from 'preact/hooks';
import { get, query } from '../api.ts';
import { jobs as countOf } from '../format.ts';
import { usePoll } from '../poll.ts';
import type { Caller, Job, JobPage } from '../types.ts';
import {
  Away,
  Column,
  Empty,
  JobLink,
  Loading,
  Pager,
  QueueLink,
  Stale,
  StateName,
  Table,
  When,
} from '../ui.tsx';
import { type Filters, whyNoSearch } from './filters.ts';
import { SelectedActs, type Selection, useSelection } from './selection.tsx';

const PAGE = 50;
/** Characters of a payload or an error. */
const MOST_SHOWN = 120;
const cut = (text: string) => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

interface TableProps {
  jobs: Job[];
  hasQueue: boolean;
  selection: Selection;
}

const Row = ({ job, hasQueue, selection }: Omit<TableProps, 'jobs'> & { job: Job }) => (
  <tr data-row>
    {selection.isOffered && (
      <td class="pick">
        <input
          type="checkbox"
          aria-label={`Select ${job.id}`}
          disabled={!selection.mayTake(job)}
          checked={selection.has(job)}
          onChange={() => selection.toggle(job)}
        />
      </td>
    )}
    <th scope="row">
      <JobLink id={job.id} />
      {job.group !== null && <span class="quiet"> group {job.group}</span>}
      {job.unique_key !== null && <span class="quiet"> key {job.unique_key}</span>}
    </th>
    <td>
      <StateName state={job.state} />
    </td>
    {hasQueue && (
      <td>
        <QueueLink name={job.queue} />
      </td>
    )}
    <td class="n">
      {job.attempt}/{job.max_attempts}
    </td>
    <td>
      <When time={job.created_at} />
    </td>
    <td class={job.worker === null ? 'nothing' : undefined}>{job.worker ?? '–'}</td>
    <td class="preview mono">{cut(job.payload_preview ?? '')}</td>
    <td class={job.last_error === null ? 'error nothing' : 'error'}>
      {cut(job.last_error?.split('\n')[0] ?? '–')}
    </td>
  </tr>
);

const JobTable = ({ jobs, hasQueue, selection }: TableProps) => (
  <Table
    label="Jobs"
    isStacked
    head={
      <>
        {selection.isOffered && (
          <td class="pick">
            <input
              type="checkbox"
              aria-label="Select all jobs on this page"
              checked={selection.isAll}
              onChange={(event) => selection.all(event.currentTarget.checked)}
            />
          </td>
        )}
        <Column>Job</Column>
        <Column>State</Column>
        {hasQueue && <Column>Queue</Column>}
        <Column isNumber>Attempt</Column>
        <Column>Enqueued</Column>
        <Column>Worker</Column>
        <Column>Payload</Column>
        <Column>Last error</Column>
      </>
    }
  >
    {jobs.map((job) => (
      <Row key={job.id} job={job} hasQueue={hasQueue} selection={selection} />
    ))}
  </Table>
);

/** How far a search has looked, over all requests that found nothing yet. */
const Searched = ({ looked, page }: { looked: number; page: JobPage }) =>
  page.looked_at === undefined ? null : (
    <p class="quiet" role="status">
      Searched {countOf(looked)} of this queue
      {page.looked_to && (
        <>
          , the last one enqueued <When time={page.looked_to} />
        </>
      )}
      . {page.next_cursor === null ? 'That was all.' : 'Next searches on.'}
    </p>
  );

interface ListProps {
  queue: string | undefined;
  filters: Filters;
  caller: Caller | undefined;
}

/** Jobs of one queue, or of all: every job is searched, not only the ones on the screen. */
export function JobList(props: ListProps) {
  const why = whyNoSearch(props.filters, props.queue);
  return why === undefined ? <FoundJobs {...props} /> : <Empty>{why}</Empty>;
}

function FoundJobs({ queue, filters, caller }: ListProps) {
  const [cursors, setCursors] = useState<string[]>([]);
  // A search that found nothing in its time has a cursor to go on from. This page begins there.
  const [from, setFrom] = useState<{ cursor: string; looked: number }>();
  const shown = { limit: PAGE, include: 'payload_preview', cursor: from?.cursor ?? cursors.at(-1) };
  const path = `jobs${query({ queue, ...filters, ...shown })}`;
  const { data, problem, reload } = usePoll(path, async () => (await get<JobPage>(path)).body, 5000);
  const next = data?.next_cursor ?? null;
  const looked = (from?.looked ?? 0) + (data?.looked_at ?? 0);
  const isSearching = data?.jobs.length === 0 && next !== null;
  useEffect(() => {
    if (isSearching) setFrom({ cursor: next, looked });
  }, [isSearching, next]);
  const selection = useSelection(data?.jobs ?? [], caller);
  if (!data && problem) return <Stale problem={problem} has={false} />;
  if (!data && from === undefined) return <Loading />;
  if (!data || isSearching) return <Empty>No match in the jobs searched so far. Still searching…</Empty>;
  return (
    <>
      <Stale problem={problem} has />
      <Away of={data.away} />
      <SelectedActs selection={selection} reload={() => void reload()} />
      {data.jobs.length === 0 ? (
        <Empty>
          {Object.keys(filters).length > 0
            ? 'No jobs match.'
            : 'No jobs here. Completed jobs are kept only while the retention of their queue lasts.'}
        </Empty>
      ) : (
        <JobTable jobs={data.jobs} hasQueue={queue === undefined} selection={selection} />
      )}
      <Searched looked={looked} page={data} />
      <Pager
        cursors={cursors}
        setCursors={(pages) => {
          setFrom(undefined);
          setCursors(pages);
        }}
        next={next}
      />
    </>
  );
}
