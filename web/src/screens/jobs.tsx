import { may } from '../api.ts';
import { go, link, replace } from '../route.ts';
import type { Caller } from '../types.ts';
import { A } from '../ui.tsx';
import { Bulk } from './bulk.tsx';
import { FilterForm } from './filterForm.tsx';
import { filtersOf } from './filters.ts';
import { JobList } from './jobList.tsx';

/** What somebody types makes no steps in the history. */
const to = (isTyped: boolean) => (isTyped ? replace : go);

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
        filters={filters}
        apply={(asked, _, isTyped) => to(isTyped)(link(['queues', queue, 'jobs'], asked))}
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
        filters={filters}
        queue={queue}
        apply={(asked, named, isTyped) => to(isTyped)(link(['jobs'], { ...asked, queue: named }))}
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
