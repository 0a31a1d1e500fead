import { get, part } from '../../api.ts';
import { Dialog } from '../../dialogs.tsx';
import { memberText, prettyJson } from '../../json.ts';
import { usePoll } from '../../poll.ts';
import type { Schedule } from '../../types.ts';
import { ProblemBox, When } from '../../ui.tsx';
import { tick, ticksOf } from './ticks.ts';

export function Details({ name, close }: { name: string; close: () => void }) {
  const path = `schedules/${part(name)}`;
  const { data, problem } = usePoll(path, () => get<Schedule>(path), 5000);
  const schedule = data?.body;
  return (
    <Dialog title={name} close={close}>
      <ProblemBox problem={problem} />
      {schedule && (
        <>
          <p>
            <code>{schedule.cron}</code> in the time zone {schedule.timezone}
          </p>
          {schedule.last_error !== null && (
            <p>
              Enqueue refused: {schedule.last_error} Next try <When time={schedule.retry_at} none="soon" />.
            </p>
          )}
          <h3>Next runs</h3>
          {schedule.paused && <p>None while paused.</p>}
          <ul class="ticks">
            {ticksOf(schedule).map((time) => (
              <li key={time}>
                {tick(time, schedule.timezone)} <span class="quiet">{<When time={time} />}</span>
              </li>
            ))}
          </ul>
          <h3>Job</h3>
          <pre>{prettyJson(memberText(data.text, 'job') ?? '')}</pre>
        </>
      )}
    </Dialog>
  );
}
