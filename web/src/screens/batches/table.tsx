import { count } from '../../format.ts';
import { link } from '../../route.ts';
import type { Batch } from '../../types.ts';
import { A, Column, QueueLink, StateName, Table, When } from '../../ui.tsx';
import { StateBar } from './bar.tsx';
import { finishedIn, jobsIn } from './counts.ts';

const HEAD = (
  <>
    <Column>Batch</Column>
    <Column>Queue</Column>
    <Column>State</Column>
    <Column>Jobs by state</Column>
    <Column isNumber>Finished</Column>
    <Column>Created</Column>
  </>
);

const Row = ({ batch }: { batch: Batch }) => {
  const { id, name, queue, state, counts } = batch;
  return (
    <tr data-row>
      <th scope="row">
        <A to={link(['batches', id])} class={name === null ? 'mono' : undefined}>
          {name ?? id}
        </A>
      </th>
      <td>
        <QueueLink name={queue} />
      </td>
      <td class="nowrap">
        <StateName state={state} />
        {counts.dead > 0 && (
          <A to={link(['batches', id], { state: 'dead' })} class="tag grave">
            {count(counts.dead)} dead
          </A>
        )}
      </td>
      <td class="ofstates">
        <StateBar counts={counts} />
      </td>
      <td class="n">
        {count(finishedIn(batch))} of {count(jobsIn(batch))}
      </td>
      <td>
        <When time={batch.created_at} />
      </td>
    </tr>
  );
};

/** A row for each batch. */
export const BatchTable = ({ batches }: { batches: Batch[] }) => (
  <Table head={HEAD} label="Batches" isStacked>
    {batches.map((batch) => (
      <Row key={batch.id} batch={batch} />
    ))}
  </Table>
);
