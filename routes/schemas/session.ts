import { Type } from 'typebox';
import { SESSION_LOSSES } from '../../src/verbs/sessions.ts';
import { decimal, oneOf, ref, text } from './common.ts';

const ID = '6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d';
const MAX_RESUME_SECONDS = 60;

export const SessionRequest = Type.Object(
  {
    session: Type.Optional(
      text(64, { description: 'The session to resume, also at another replica. Default: a new one.' }),
    ),
    resume_seconds: Type.Optional(
      decimal({
        minimum: 0,
        maximum: MAX_RESUME_SECONDS,
        description:
          'How long after the end of its connection the session can be resumed. Then it ends. Default: 2, and for a resumed session what it had.',
      }),
    ),
  },
  {
    $id: 'SessionRequest',
    description: 'A session to open, or to resume.',
    additionalProperties: false,
    examples: [{ resume_seconds: 2 }],
  },
);

export const SessionLoss = oneOf(
  SESSION_LOSSES.filter((loss) => loss !== 'hung_up'),
  {
    $id: 'SessionLoss',
    description:
      'Why this connection holds the session no longer. `resumed`: another connection has it. `session_ended`: it was not renewed in time. ' +
      '`stopping`: this replica stops; resume the session. `revoked`: the access key may do nothing any more.',
  },
);

export const SessionLine = Type.Object(
  {
    session: Type.Optional(Type.String({ description: 'In the first line: the id for claims.' })),
    resume_seconds: Type.Optional(
      decimal({ description: 'In the first line: how long the session can be resumed.' }),
    ),
    lost: Type.Optional(ref(SessionLoss)),
  },
  {
    $id: 'SessionLine',
    description:
      'A line of the answer. The first one has the id. Then there is an empty object every 3 s. The last one has `lost`.',
    examples: [{ session: ID, resume_seconds: 2 }],
  },
);
