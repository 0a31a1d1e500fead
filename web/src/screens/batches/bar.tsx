import { count } from '../../format.ts';
import type { Batch, JobState } from '../../types.ts';

/** From the left: what is finished, what workers have, what waits. */
const PARTS = [
  'completed',
  'cancelled',
  'dead',
  'leased',
  'ready',
  'blocked',
  'scheduled',
] as const satisfies JobState[];

/** The colour of a state in the bar. */
export const Swatch = ({ state }: { state: JobState }) => <span class={`part ${state}`} />;

/** The jobs of a batch by state. A part with few jobs is wide enough to be seen. */
export function StateBar({ counts }: Pick<Batch, 'counts'>) {
  const parts = PARTS.filter((state) => counts[state] > 0);
  const says = parts.map((state) => `${count(counts[state])} ${state}`).join(', ') || 'no jobs';
  return (
    <div class="statebar" role="img" aria-label={`Jobs by state: ${says}`} title={says}>
      {parts.map((state) => (
        <span key={state} class={`part ${state}`} style={{ flexGrow: counts[state] }} />
      ))}
    </div>
  );
}
