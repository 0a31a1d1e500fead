import { useEffect, useState } from 'preact/hooks';
import { get, may, query } from '../api.ts';
import { usePoll } from '../poll.ts';
import { go, link } from '../route.ts';
import { type Caller, type Job, STATES } from '../types.ts';
import {
  A,
  Empty,
  Field,
  JobLink,
  Loading,
  Pager,
  QueueLink,
  Stale,
  StateName,
  Table,
  When,
} from '../ui.tsx';
import { Bulk } from './bulk.tsx';
import { FILTERS, type Filters, filtersOf, fromField, toField } from './filters.ts';
import { SelectedActs, useSelection } from './selection.tsx';

const PAGE = 50;

const TEXTS = [
  ['group', 'Group'],
  ['unique_key', 'Unique key'],
  ['fairness_key', 'Fairness key'],
  ['worker', 'Worker'],
  ['error_contains', 'Error contains'],
] as const;

function FilterForm({
  filters,
  queue,
  apply,
}: {
  filters: Filters;
  queue?: string;
  apply: (filters: Filters, queue: string) => void;
}) {
  return (
    <form
      class="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        const given = (name: string) => String(form.get(name) ?? '').trim();
        const asked: Filters = {};
        for (const name of FILTERS)
          asked[name] = name.startsWith('created_') ? fromField(given(name)) : given(name);
        apply(asked, given('queue'));
      }}
    >
      <Field label="State">
        <select
          name="state"
          data-search={queue === undefined ? undefined : true}
          defaultValue={filters.state ?? ''}
        >
          <option value="" selected={!filters.state}>
            any
          </option>
          {STATES.map((state) => (
            <option key={state} value={state} selected={filters.state === state}>
              {state}
            </option>
          ))}
        </select>
      </Field>
      {queue !== undefined && (
        <Field label="Queue">
          <input name="queue" defaultValue={queue} />
        </Field>
      )}
      {TEXTS.map(([name, label], i) => (
        <Field key={name} label={label}>
          <input
            name={name}
            maxLength={256}
            data-search={queue === undefined && i === 0 ? true : undefined}
            defaultValue={filters[name] ?? ''}
          />
        </Field>
      ))}
      <Field label="Enqueued after">
        <input
          type="datetime-local"
          step={1}
          name="created_after"
          defaultValue={toField(filters.created_after)}
        />
      </Field>
      <Field label="Enqueued before">
        <input
          type="datetime-local"
          step={1}
          name="created_before"
          defaultValue={toField(filters.created_before)}
        />
      </Field>
      <Field label="Order">
        <select name="order">
          <option value="" selected={filters.order !== 'oldest'}>
            newest first
          </option>
          <option value="oldest" selected={filters.order === 'oldest'}>
            oldest first
          </option>
        </select>
      </Field>
      <div class="buttons">
        <button type="submit" class="main">
          Filter
        </button>
      </div>
    </form>
  );
}

const MOST_SHOWN = 120;
const cut = (text: string) => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

/** Jobs of one queue, or of all: every job is searched, not only the ones on the screen. */
export function JobList({
  queue,
  filters,
  caller,
}: {
  queue: string | undefined;
  filters: Filters;
  caller: Caller | undefined;
}) {
  const [cursors, setCursors] = useState<string[]>([]);
  // A search that found nothing in its time has a cursor to go on from. This page begins there.
  const [searchedTo, setSearchedTo] = useState<string>();
  const at = searchedTo ?? cursors.at(-1);
  const shown = { limit: PAGE, include: 'payload_preview' };
  const path = `jobs${query({ queue, ...filters, ...shown, cursor: at })}`;
  const { data, problem, reload } = usePoll(
    path,
    async () => (await get<{ jobs: Job[]; next_cursor: string | null }>(path)).body,
    5000,
  );
  const selection = useSelection(data?.jobs ?? [], caller);
  const next = data?.next_cursor ?? null;
  const isSearching = data?.jobs.length === 0 && next !== null;
  useEffect(() => {
    if (isSearching) setSearchedTo(next);
  }, [isSearching, next]);
  const searching = <Empty>No match in the jobs searched so far. Still searching…</Empty>;
  if (!data) {
    if (problem) return <Stale problem={problem} has={false} />;
    return searchedTo === undefined ? <Loading /> : searching;
  }
  return (
    <>
      <Stale problem={problem} has />
      <SelectedActs selection={selection} reload={() => void reload()} />
      {isSearching ? (
        searching
      ) : data.jobs.length === 0 ? (
        <Empty>
          {Object.keys(filters).length > 0
            ? 'No jobs match.'
            : 'No jobs here. Completed jobs are kept only while the retention of their queue lasts.'}
        </Empty>
      ) : (
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
              <th scope="col">Job</th>
              <th scope="col">State</th>
              {queue === undefined && <th scope="col">Queue</th>}
              <th scope="col" class="n">
                Attempt
              </th>
              <th scope="col">Enqueued</th>
              <th scope="col">Worker</th>
              <th scope="col">Payload</th>
              <th scope="col">Last error</th>
            </>
          }
        >
          {data.jobs.map((job) => (
            <tr data-row key={job.id}>
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
              {queue === undefined && (
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
          ))}
        </Table>
      )}
      <Pager
        cursors={cursors}
        setCursors={(pages) => {
          setSearchedTo(undefined);
          setCursors(pages);
        }}
        next={next}
      />
    </>
  );
}

/** The jobs of a queue, with filters, and what can be done to all of them. */
export function QueueJobs({
  queue,
  parameters,
  caller,
}: {
  queue: string;
  parameters: URLSearchParams;
  caller: Caller | undefined;
}) {
  const filters = filtersOf(parameters);
  const key = JSON.stringify(filters);
  return (
    <>
      <FilterForm
        key={key}
        filters={filters}
        apply={(asked) => go(link(['queues', queue, 'jobs'], asked as Record<string, string>))}
      />
      {may(caller, 'admin', queue) && <Bulk queue={queue} filters={filters} />}
      <JobList key={`${key} list`} queue={queue} filters={filters} caller={caller} />
    </>
  );
}

export function JobsScreen({
  parameters,
  caller,
}: {
  parameters: URLSearchParams;
  caller: Caller | undefined;
}) {
  const filters = filtersOf(parameters);
  const queue = parameters.get('queue') ?? '';
  const key = JSON.stringify([filters, queue]);
  return (
    <main>
      <h1>Jobs</h1>
      <search>
        <form
          class="find"
          onSubmit={(event) => {
            event.preventDefault();
            const id = String(new FormData(event.currentTarget).get('id')).trim();
            if (id !== '') go(link(['jobs', id]));
          }}
        >
          <input
            name="id"
            data-search
            type="search"
            aria-label="Job ID"
            placeholder="Open a job by ID ( / )"
          />
          <button type="submit">Open</button>
        </form>
      </search>
      <FilterForm
        key={key}
        filters={filters}
        queue={queue}
        apply={(asked, named) => go(link(['jobs'], { ...(asked as Record<string, string>), queue: named }))}
      />
      {queue !== '' && may(caller, 'admin', queue) && <Bulk queue={queue} filters={filters} />}
      {queue === '' && may(caller, 'admin') && (
        <p class="quiet">
          To change all that match, filter by a queue first. <A to="#/operations">Running operations</A>
        </p>
      )}
      <JobList
        key={`${key} list`}
        queue={queue === '' ? undefined : queue}
        filters={filters}
        caller={caller}
      />
    </main>
  );
}
