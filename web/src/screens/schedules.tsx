import { useState } from 'preact/hooks';
import { get, may, part } from '../api.ts';
import { Confirm, Do } from '../dialogs.tsx';
import { usePoll } from '../poll.ts';
import { go, link } from '../route.ts';
import type { Caller, Schedule, SchedulePage } from '../types.ts';
import { A, Column, Empty, Loading, Pager, QueueLink, Stale, Table, When } from '../ui.tsx';
import { NewSchedule } from './newSchedule.tsx';
import { Details } from './schedules/details.tsx';
import { Pause } from './schedules/pause.tsx';
import { tick, ticksOf } from './schedules/ticks.ts';

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
  const { data, problem, reload } = usePoll(path, async () => (await get<SchedulePage>(path)).body, 5000);
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
              <Column>Schedule</Column>
              <Column>Cron</Column>
              <Column>Queue</Column>
              <Column>Next runs, in its time zone</Column>
              <Column>Last run</Column>
              <Column>
                <span class="unseen">Actions</span>
              </Column>
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
