import { useState } from 'preact/hooks';
import { nextTick } from '../../../src/schedules/cron.ts';
import { get, may, part } from '../api.ts';
import { Confirm, Dialog, Do } from '../dialogs.tsx';
import { inZone } from '../format.ts';
import { memberText, prettyJson } from '../json.ts';
import { usePoll } from '../poll.ts';
import { go, link } from '../route.ts';
import type { Caller, Schedule } from '../types.ts';
import { A, Empty, Loading, Pager, ProblemBox, QueueLink, Stale, Table, When } from '../ui.tsx';
import { NewSchedule } from './newSchedule.tsx';

const TICKS = 5;

/** The ticks that come, by the rules that Dibs itself goes by. The first one is what Dibs says. */
function ticksOf({ cron, timezone, next_run_at }: Schedule): string[] {
  const ticks: string[] = next_run_at ? [next_run_at] : [];
  try {
    while (ticks.length > 0 && ticks.length < TICKS) {
      const next = nextTick(cron, timezone, new Date(ticks.at(-1) as string));
      if (next === null) break;
      ticks.push(next);
    }
  } catch {
    // A browser may not know the zone. Then there is only what Dibs says.
  }
  return ticks;
}

const tick = (time: string, timezone: string) => {
  try {
    return inZone(time, timezone);
  } catch {
    return time;
  }
};

function Details({ name, close }: { name: string; close: () => void }) {
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

/** Reads it as text and puts it back with another `paused`, so that its payload keeps each digit. */
function Pause({ name, done, close }: { name: string; done: () => void; close: () => void }) {
  const path = `schedules/${part(name)}`;
  const { data, problem } = usePoll(path, () => get<Schedule>(path));
  if (!data)
    return (
      <Dialog title={name} close={close}>
        {problem ? <ProblemBox problem={problem} /> : <Loading />}
      </Dialog>
    );
  const { paused } = data.body;
  const members = ['cron', 'timezone', 'job'].map((member) => `"${member}":${memberText(data.text, member)}`);
  return (
    <Confirm
      title={`${paused ? 'Resume' : 'Pause'} ${name}`}
      says={
        paused
          ? 'It runs again from its next time on. Missed runs are not made up for.'
          : 'It enqueues nothing until it is resumed.'
      }
      verb={paused ? 'Resume' : 'Pause'}
      asks={{ method: 'PUT', path, body: `{${members.join(',')},"paused":${!paused}}` }}
      done={done}
      close={close}
    />
  );
}

function Row({
  schedule,
  caller,
  reload,
}: {
  schedule: Schedule;
  caller: Caller | undefined;
  reload: () => void;
}) {
  const [open, setOpen] = useState<'delete' | 'pause'>();
  const { name, timezone, paused, job } = schedule;
  const queue = job.queue ?? 'default';
  const path = `schedules/${part(name)}`;
  const close = () => setOpen(undefined);
  const closeAndLook = () => {
    close();
    reload();
  };
  return (
    <tr data-row>
      <th scope="row">
        <A to={link(['schedules', name])}>{name}</A> {paused && <span class="tag">paused</span>}
        {schedule.last_error !== null && (
          <span class="tag grave" title={schedule.last_error}>
            refused
          </span>
        )}
      </th>
      <td>
        <code>{schedule.cron}</code> <span class="quiet">{timezone}</span>
      </td>
      <td>
        <QueueLink name={queue} />
      </td>
      <td>
        {ticksOf(schedule)
          .slice(0, 2)
          .map((time) => (
            <div key={time} class="nowrap">
              {tick(time, timezone)} <span class="quiet">{<When time={time} />}</span>
            </div>
          ))}
        {paused && '–'}
      </td>
      <td>
        <When time={schedule.last_run_at} none="never" />
      </td>
      <td>
        {may(caller, 'admin', queue) && (
          <div class="actions">
            <Do asks={{ method: 'POST', path: `${path}/trigger` }} done={reload}>
              Trigger
            </Do>
            <button type="button" onClick={() => setOpen('pause')}>
              {paused ? 'Resume…' : 'Pause…'}
            </button>
            <button type="button" class="grave" onClick={() => setOpen('delete')}>
              Delete…
            </button>
          </div>
        )}
        {open === 'pause' && <Pause name={name} done={closeAndLook} close={close} />}
        {open === 'delete' && (
          <Confirm
            title={`Delete ${name}`}
            says="It never runs again. Jobs that it has enqueued stay."
            verb="Delete the schedule"
            typed={name}
            isGrave
            asks={{ method: 'DELETE', path }}
            done={closeAndLook}
            close={close}
          />
        )}
      </td>
    </tr>
  );
}

export function SchedulesScreen({ open, caller }: { open: string | undefined; caller: Caller | undefined }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const at = cursors.at(-1);
  const path = `schedules?limit=50${at ? `&cursor=${encodeURIComponent(at)}` : ''}`;
  const { data, problem, reload } = usePoll(
    path,
    async () => (await get<{ schedules: Schedule[]; next_cursor: string | null }>(path)).body,
    5000,
  );
  const [isNew, setNew] = useState(false);
  // For which queues, the service says.
  const isAdmin = caller?.scopes.includes('admin');
  const next = data?.next_cursor ?? null;
  return (
    <main>
      <h1>Schedules</h1>
      <Stale problem={problem} has={data !== undefined} />
      {!data && !problem && <Loading />}
      {isAdmin && (
        <div class="actions">
          <button type="button" class="main" onClick={() => setNew(true)}>
            New schedule…
          </button>
        </div>
      )}
      {data?.schedules.length === 0 && (
        <Empty>No schedules yet. A schedule enqueues a job at each time of its cron.</Empty>
      )}
      {data && data.schedules.length > 0 && (
        <Table
          label="Schedules"
          head={
            <>
              <th scope="col">Schedule</th>
              <th scope="col">Cron</th>
              <th scope="col">Queue</th>
              <th scope="col">Next runs, in its time zone</th>
              <th scope="col">Last run</th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </>
          }
        >
          {data.schedules.map((schedule) => (
            <Row key={schedule.name} schedule={schedule} caller={caller} reload={() => void reload()} />
          ))}
        </Table>
      )}
      {(cursors.length > 0 || next !== null) && (
        <Pager cursors={cursors} setCursors={setCursors} next={next} />
      )}
      {isNew && (
        <NewSchedule
          close={() => setNew(false)}
          done={() => {
            setNew(false);
            void reload();
          }}
        />
      )}
      {open !== undefined && <Details name={open} close={() => go('#/schedules')} />}
    </main>
  );
}
