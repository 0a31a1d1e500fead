import { useState } from 'preact/hooks';
import { Chart, DEAD, DEPTH, FLOW, OLDEST, type Range } from '../charts.tsx';
import { usePoll } from '../poll.ts';
import { type Sample, samplesOf, samplesSince } from '../samples.ts';

/** How far back charts may go. */
const HOUR: Range = { minutes: 60, title: '1 h', spoken: 'the last hour' };
const RANGES: Range[] = [
  { minutes: 5, title: '5 min', spoken: 'the last 5 minutes' },
  { minutes: 15, title: '15 min', spoken: 'the last 15 minutes' },
  HOUR,
  { minutes: 1440, title: '24 h', spoken: 'the last 24 hours' },
];
/** The tab keeps this many minutes. Of more, Dibs is asked. */
const KEPT_MINUTES = 60;
/** Dibs notes numbers once a minute. */
const NOTED_MS = 60_000;

const RANGE = 'dibs-range';
const chosenRange = () =>
  RANGES.find(({ minutes }) => String(minutes) === sessionStorage.getItem(RANGE)) ?? HOUR;

/** The charts of a queue, or of all together, with how far back they go. */
export function Charts({ name }: { name: string }) {
  const [range, setRange] = useState(chosenRange);
  const { minutes } = range;
  const isLong = minutes > KEPT_MINUTES;
  const { data } = usePoll<Sample[] | undefined>(
    `samples ${name} ${isLong}`,
    async () => (isLong ? samplesSince(minutes, name) : undefined),
    isLong ? NOTED_MS : 0,
  );
  const samples = isLong ? (data ?? []) : samplesOf(name);
  const shown = { samples, range };
  return (
    <>
      <fieldset class="ranges">
        <legend class="unseen">Time that the charts show</legend>
        {RANGES.map((one) => (
          <button
            key={one.minutes}
            type="button"
            class="small"
            aria-pressed={one.minutes === minutes}
            onClick={() => {
              sessionStorage.setItem(RANGE, String(one.minutes));
              setRange(one);
            }}
          >
            {one.title}
          </button>
        ))}
      </fieldset>
      <section class="charts" aria-label={`Charts: ${range.spoken}`}>
        <Chart title="Jobs" unit="jobs" lines={DEPTH} {...shown} />
        <Chart title="Flow" unit="per second" lines={FLOW} {...shown} />
        <Chart title="Oldest ready job" unit="seconds" lines={OLDEST} {...shown} />
        <Chart title="Dead" unit="jobs" lines={DEAD} {...shown} />
      </section>
    </>
  );
}
