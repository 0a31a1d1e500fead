import { useState } from 'preact/hooks';
import { get, may, query } from '../api.ts';
import { count, local } from '../format.ts';
import { usePoll } from '../poll.ts';
import { go, link } from '../route.ts';
import type { AuditDetails, AuditPage, Caller } from '../types.ts';
import { BatchLink, Column, Empty, Field, JobLink, Loading, Pager, QueueLink, Stale, Table } from '../ui.tsx';

const FILTERS = [
  ['actor', 'Actor'],
  ['verb', 'Action'],
  ['queue', 'Queue'],
] as const;

export function AuditScreen({
  parameters,
  caller,
}: {
  parameters: URLSearchParams;
  caller: Caller | undefined;
}) {
  const filters = Object.fromEntries(FILTERS.map(([name]) => [name, parameters.get(name) ?? '']));
  const key = JSON.stringify(filters);
  return (
    <main>
      <h1>Audit</h1>
      <p class="quiet">
        Every change made with the scope admin.
        {caller && !may(caller, 'admin') && ' To read it, a key needs the scope admin for all queues.'}
      </p>
      <form
        key={key}
        class="filters"
        aria-label="Filters"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          go(
            link(
              ['audit'],
              Object.fromEntries(FILTERS.map(([name]) => [name, String(form.get(name)).trim()])),
            ),
          );
        }}
      >
        {FILTERS.map(([name, label], i) => (
          <Field key={name} label={label}>
            <input name={name} data-search={i === 0 ? true : undefined} defaultValue={filters[name]} />
          </Field>
        ))}
        <div class="buttons">
          <button type="submit" class="main">
            Filter
          </button>
        </div>
      </form>
      <Entries key={`${key} list`} filters={filters} />
    </main>
  );
}

/** What else there is to say. */
function Details({ of: { batch_id, ...others } }: { of: AuditDetails }) {
  const said = Object.entries(others).map(([name, value]) => (value === true ? name : `${name} ${value}`));
  return (
    <>
      {batch_id && <BatchLink id={batch_id} />} <span class="quiet">{said.join(', ')}</span>
    </>
  );
}

function Entries({ filters }: { filters: Record<string, string> }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const path = `audit${query({ ...filters, limit: 50, cursor: cursors.at(-1) })}`;
  const { data, problem } = usePoll(path, async () => (await get<AuditPage>(path)).body, 5000);
  if (!data) return problem ? <Stale problem={problem} has={false} /> : <Loading />;
  const next = data.next_cursor;
  return (
    <>
      <Stale problem={problem} has />
      {data.entries.length === 0 ? (
        <Empty>No entries match.</Empty>
      ) : (
        <Table
          label="Audit"
          head={
            <>
              <Column>When</Column>
              <Column>Actor</Column>
              <Column>Action</Column>
              <Column>Target</Column>
              <Column isNumber>Jobs</Column>
              <Column>Outcome</Column>
              <Column>Address</Column>
            </>
          }
        >
          {data.entries.map((entry) => (
            <tr key={entry.id}>
              <td>{local(entry.created_at)}</td>
              <td>{entry.actor}</td>
              <td>{entry.verb}</td>
              <td>
                {entry.queue && <QueueLink name={entry.queue} />}{' '}
                {entry.job_id && <JobLink id={entry.job_id} />} {entry.schedule} {entry.key_id}{' '}
                {entry.database} <Details of={entry.details} />
              </td>
              <td class="n">{count(entry.count)}</td>
              <td>{entry.outcome}</td>
              <td>{entry.address ?? '–'}</td>
            </tr>
          ))}
        </Table>
      )}
      <Pager cursors={cursors} setCursors={setCursors} next={next} />
    </>
  );
}
