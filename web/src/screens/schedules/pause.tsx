import { get, part } from '../../api.ts';
import { Confirm, Dialog } from '../../dialogs.tsx';
import { memberText } from '../../json.ts';
import { usePoll } from '../../poll.ts';
import type { Schedule } from '../../types.ts';
import { Loading, ProblemBox } from '../../ui.tsx';

/** Reads it as text and puts it back with another `paused`, so that its payload keeps each digit. */
export function Pause({ name, done, close }: { name: string; done: () => void; close: () => void }) {
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
