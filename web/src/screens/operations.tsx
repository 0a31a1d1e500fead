import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { get, may } from '../api.ts';
import { Confirm } from '../dialogs.tsx';
import { count, duration } from '../format.ts';
import { usePoll } from '../poll.ts';
import { link } from '../route.ts';
import type { Caller, Operation, OperationPage } from '../types.ts';
import {
  A,
  Away,
  Column,
  Empty,
  Facts,
  Loading,
  ProblemBox,
  QueueLink,
  Stale,
  StateName,
  Table,
  When,
} from '../ui.tsx';

const NOT_YET = 'This version of Dibs has no operations.';

const Progress = ({ operation }: { operation: Operation }) => {
  const { matched, done, skipped, state } = operation;
  const most = Math.max(matched ?? 0, done + skipped, 1);
  // A count does nothing to its jobs, and where none matches there is nothing to do.
  const value = state === 'done' ? most : done + skipped;
  return (
    <progress max={most} value={value} aria-label="Progress">
      {value} of {most}
    </progress>
  );
};

const what = ({ verb, dry_run, to }: Operation) =>
  `${dry_run ? 'dry run of ' : ''}${verb}${to ? ` to ${to}` : ''}`;

type Fact = [string, ComponentChildren];

const filterFacts = ({ skipped, filter }: Operation): Fact[] => [
  ['Skipped', count(skipped)],
  ['Filter', <code key="filter">{JSON.stringify(filter ?? {})}</code>],
];

const relocationFacts = ({ hold_seconds }: Operation): Fact[] =>
  hold_seconds === null ? [] : [['Calls wait', `about ${duration(hold_seconds)}`]];

export function OperationsScreen() {
  const { data, problem } = usePoll(
    'operations',
    async () => (await get<OperationPage>('operations?limit=100')).body,
    2000,
  );
  if (problem?.code === 'route_not_found')
    return (
      <main>
        <h1>Operations</h1>
        <Empty>{NOT_YET}</Empty>
      </main>
    );
  return (
    <main>
      <h1>Operations</h1>
      <p class="quiet">
        Changes to many jobs at once, made in the background. To start one, open the jobs of a queue, filter
        them, and choose “Change all matching”.
      </p>
      <Stale problem={problem} has={data !== undefined} />
      <Away of={data?.away} />
      {!data && !problem && <Loading />}
      {data?.operations.length === 0 && <Empty>No operations yet.</Empty>}
      {data && data.operations.length > 0 && (
        <Table
          label="Operations"
          head={
            <>
              <Column>Operation</Column>
              <Column>Queue</Column>
              <Column>State</Column>
              <Column>Progress</Column>
              <Column isNumber>Done</Column>
              <Column isNumber>Matched</Column>
              <Column>Started</Column>
            </>
          }
        >
          {data.operations.map((operation) => (
            <tr data-row key={operation.id}>
              <th scope="row">
                <A to={link(['operations', operation.id])}>{what(operation)}</A>
              </th>
              <td>{operation.queue ? <QueueLink name={operation.queue} /> : '–'}</td>
              <td>
                <StateName state={operation.state} />
              </td>
              <td>
                <Progress operation={operation} />
              </td>
              <td class="n">{count(operation.done)}</td>
              <td class="n">{count(operation.matched)}</td>
              <td>
                <When time={operation.created_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </main>
  );
}

export function OperationScreen({ id, caller }: { id: string; caller: Caller | undefined }) {
  const path = `operations/${encodeURIComponent(id)}`;
  const [isStopping, setStopping] = useState(false);
  const {
    data: operation,
    problem,
    reload,
  } = usePoll(path, async () => (await get<Operation>(path)).body, 1000);
  const took =
    operation &&
    ((operation.finished_at ? Date.parse(operation.finished_at) : Date.now()) -
      Date.parse(operation.created_at)) /
      1000;
  return (
    <main>
      <p class="crumbs">
        <A to="#/operations">Operations</A>
      </p>
      <h1>{operation ? what(operation) : 'Operation'}</h1>
      {operation ? <Stale problem={problem} has /> : <ProblemBox problem={problem} />}
      {!operation && !problem && <Loading />}
      {operation && (
        <>
          <div class="bigprogress">
            <Progress operation={operation} />
            <span role="status">
              <StateName state={operation.state} /> {count(operation.done)} of {count(operation.matched)}
            </span>
          </div>
          {operation.state === 'running' && may(caller, 'admin', operation.queue) && (
            <button type="button" class="grave" onClick={() => setStopping(true)}>
              Stop
            </button>
          )}
          <Facts
            of={[
              ['Queue', operation.queue ? <QueueLink name={operation.queue} /> : '–'],
              ['Matched', count(operation.matched)],
              ['Done', count(operation.done)],
              ...(operation.verb === 'relocate' ? relocationFacts(operation) : filterFacts(operation)),
              ...(operation.error ? ([['Error', operation.error]] as [string, string][]) : []),
              ['Started', <When key="began" time={operation.created_at} />],
              ['Took', duration(took)],
            ]}
          />
        </>
      )}
      {isStopping && (
        <Confirm
          title="Stop this operation"
          says={
            operation?.verb === 'relocate'
              ? 'The queue stays where it was, with all of its jobs. When it has arrived, it is too late.'
              : 'Jobs that were changed stay changed. The others are left as they are.'
          }
          verb="Stop the operation"
          isGrave
          asks={{ method: 'DELETE', path }}
          done={() => {
            setStopping(false);
            void reload();
          }}
          close={() => setStopping(false)}
        />
      )}
    </main>
  );
}
