import { Type } from 'typebox';
import { nextCursor, nullable, ref, TIME_EXAMPLE, time } from './common.ts';

const EXAMPLE = {
  id: '4711',
  created_at: TIME_EXAMPLE,
  actor: 'deploys',
  actor_id: 'k4TzQ0',
  verb: 'purgeQueue',
  queue: 'mail.welcome',
  job_id: null,
  schedule: null,
  key_id: null,
  database: null,
  count: 1200,
  outcome: 'done',
  address: '10.0.3.7',
  request_id: '0b9d1f0e-6d4e-4d0c-9f5e-0d6f2c1a7b3e',
  details: { states: ['dead'] },
};

const choice = (description: string) => Type.Optional(Type.Boolean({ description }));
const named = (description: string) => Type.Optional(Type.String({ description }));

export const AuditDetails = Type.Object(
  {
    batch_id: named('To which batch.'),
    group: named('To which group.'),
    operation_id: named('Which operation was started or stopped.'),
    operation: named('The verb of that operation, such as `delete`.'),
    to: named('To which queue the operation moves jobs.'),
    dry_run: choice('The operation or relocation only counted.'),
    home: choice('A redrive sent dead letters back to the queues they came from.'),
    force: choice('A queue was deleted with its jobs.'),
    states: Type.Optional(Type.Array(Type.String(), { description: 'Jobs of which states were purged.' })),
  },
  {
    $id: 'AuditDetails',
    description: 'More of what was done. It has only what there is to say.',
    examples: [{ home: true }],
  },
);

export const AuditEntry = Type.Object(
  {
    id: Type.String({ description: 'Newer entries have larger numbers.' }),
    created_at: time('When it was done.'),
    actor: Type.String({
      description: 'The name of the access key or token. `anybody`, where nobody needs one.',
    }),
    actor_id: nullable<string>('string', { description: 'Its id. Null where nobody needs one.' }),
    verb: Type.String({ description: 'What was done.', examples: ['purgeQueue'] }),
    queue: nullable<string>('string', { description: 'In which queue.' }),
    job_id: nullable<string>('string', { description: 'To which job.' }),
    schedule: nullable<string>('string', { description: 'To which schedule.' }),
    key_id: nullable<string>('string', { description: 'To which access key.' }),
    database: nullable<string>('string', { description: 'To which database.' }),
    count: nullable<number>('integer', {
      description: 'To how many jobs. Null where it is not about jobs, or not known.',
    }),
    outcome: Type.String({ description: '`done`, `failed`, or the `code` of the refusal.' }),
    address: nullable<string>('string', { description: 'The address of the client.' }),
    request_id: nullable<string>('string', { description: 'The `X-Request-Id` of the request.' }),
    details: ref(AuditDetails),
  },
  { $id: 'AuditEntry', description: 'Something that was done with the scope `admin`.', examples: [EXAMPLE] },
);

export const AuditPage = Type.Object(
  {
    entries: Type.Array(ref(AuditEntry), { description: 'The entries, newest first.' }),
    ...nextCursor,
  },
  {
    $id: 'AuditPage',
    description: 'A page of the audit.',
    examples: [{ entries: [EXAMPLE], next_cursor: null }],
  },
);
