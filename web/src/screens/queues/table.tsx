import { DEPTH, FLOW, Spark, SparkAxis } from '../../charts.tsx';
import { count, duration, rate } from '../../format.ts';
import { link } from '../../route.ts';
import { samplesOf } from '../../samples.ts';
import type { QueueOverview } from '../../types.ts';
import { A, Column, InDatabase, QueueLink, Table, Trouble } from '../../ui.tsx';
import { failures } from './failures.ts';

const HEAD = (
  <>
    <Column>Queue</Column>
    <Column isNumber>Ready</Column>
    <Column isNumber>Leased</Column>
    <Column isNumber>Scheduled</Column>
    <Column isNumber>Dead</Column>
    <Column isNumber>Oldest</Column>
    <Column isNumber>Enqueued/s</Column>
    <Column isNumber>Completed/s</Column>
    <Column isNumber>Failed/s</Column>
    <Column isNumber>Drains in</Column>
    <Column>
      Depth <SparkAxis />
    </Column>
    <Column>
      Flow <SparkAxis />
    </Column>
  </>
);

function Row({ queue }: { queue: QueueOverview }) {
  const { name, counts, per_second: rates } = queue;
  const samples = samplesOf(name);
  return (
    <tr data-row class={queue.troubles.length > 0 ? 'troubled' : undefined}>
      <th scope="row">
        <QueueLink name={name} />{' '}
        {queue.troubles.map((code) => (
          <Trouble key={code} code={code} />
        ))}
        <InDatabase name={queue.database} />
      </th>
      <td class="n">{count(counts?.ready)}</td>
      <td class="n">{count(counts?.leased)}</td>
      <td class="n">{count(counts?.scheduled)}</td>
      <td class="n">
        {counts?.dead ? (
          <A to={link(['queues', name, 'jobs'], { state: 'dead' })}>{count(counts.dead)}</A>
        ) : (
          count(counts?.dead)
        )}
      </td>
      <td class="n">{duration(queue.oldest_ready_age_seconds)}</td>
      <td class="n">{rate(rates?.enqueued)}</td>
      <td class="n">{rate(rates?.acked)}</td>
      <td class="n">{rate(failures(rates))}</td>
      <td class="n">{duration(queue.paused ? null : queue.drain_seconds)}</td>
      <td>
        <Spark title="Depth" samples={samples} lines={DEPTH} />
      </td>
      <td>
        <Spark title="Flow" samples={samples} lines={FLOW} />
      </td>
    </tr>
  );
}

/** A row for each queue. */
export const QueueTable = ({ label, queues }: { label: string; queues: QueueOverview[] }) => (
  <Table head={HEAD} label={label}>
    {queues.map((queue) => (
      <Row key={queue.name} queue={queue} />
    ))}
  </Table>
);
