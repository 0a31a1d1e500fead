import { count } from '../../format.ts';
import { link } from '../../route.ts';
import { type Batch, type JobState, STATES } from '../../types.ts';
import { A, type Fact, Facts, QueueLink, StateName, When } from '../../ui.tsx';
import { StateBar, Swatch } from './bar.tsx';
import { finishedIn, jobsIn } from './counts.ts';

/** How far a batch is. Each number leads to its jobs. */
export const Progress = ({ batch, at }: { batch: Batch; at: string }) => (
  <>
    <div class="bigprogress">
      <StateBar counts={batch.counts} />
      <span role="status">
        <StateName state={batch.state} /> {count(finishedIn(batch))} of {count(jobsIn(batch))} finished
      </span>
    </div>
    <section class="counts" aria-label="Jobs by state">
      {STATES.map((state: JobState) => (
        <A
          key={state}
          to={link(['batches', batch.id], { state })}
          aria-current={state === at ? 'page' : undefined}
        >
          <span>
            <Swatch state={state} /> <StateName state={state} />
          </span>{' '}
          <strong>{count(batch.counts[state])}</strong>
        </A>
      ))}
    </section>
  </>
);

const FOLLOWS: Record<Batch['followers'][number], string> = {
  on_end: 'when all jobs are finished',
  on_success: 'when all jobs are completed',
};

const followers = (of: Batch['followers']) =>
  of.length === 0
    ? 'none'
    : of.map((name) => (
        <div key={name}>
          <code>{name}</code> <span class="quiet">{FOLLOWS[name]}</span>
        </div>
      ));

export const BatchFacts = ({ batch }: { batch: Batch }) => {
  const { id, name, queue, created_at, closed_at, finished_at } = batch;
  const facts: Fact[] = [
    ['Queue', <QueueLink key="q" name={queue} />],
    ['Followers that may still be enqueued', followers(batch.followers)],
    ['Created', <When key="c" time={created_at} />],
    ['Closed', <When key="e" time={closed_at} />],
    ['Finished', <When key="f" time={finished_at} />],
  ];
  if (name !== null) facts.push(['ID', <code key="i">{id}</code>]);
  return <Facts of={facts} />;
};
