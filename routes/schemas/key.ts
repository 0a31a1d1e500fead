import { Type } from 'typebox';
import { KEY_PATTERN } from '../../src/access/keyFormat.ts';
import { QUEUE_PATTERN, SCOPES } from '../../src/caller.ts';
import { LONGEST_SECONDS } from '../../src/job.ts';
import { KEY_NAME, KEY_OVERLAP_SECONDS, MOST_QUEUE_PATTERNS } from '../../src/verbs/keys.ts';
import { decimal, nextCursor, nullableTime, oneOf, ref, TIME_EXAMPLE, time } from './common.ts';

export const KeyId = Type.Object({
  id: Type.String({ description: 'The id of an access key, as Dibs gave it; opaque.' }),
});

const name = Type.String({
  pattern: KEY_NAME,
  description:
    'Who uses the key: 1 to 128 printable characters of ASCII. No two keys that are not revoked have the same name.',
  examples: ['mailer'],
});

const scopes = (options: object = {}) =>
  Type.Array(oneOf(SCOPES), {
    description:
      '`produce`: enqueue. `consume`: claim and settle. `read`: look at jobs, queues and schedules. `admin`: everything.',
    ...options,
  });

const queues = (options: object = {}) =>
  Type.Array(Type.String({ pattern: QUEUE_PATTERN.source }), {
    examples: [['mail', 'reports.*']],
    ...options,
  });

const PATTERNS = 'Queue patterns: a name (`mail`), the beginning of names (`mail.*`), or `*` for all.';

export const NewKey = Type.Object(
  {
    name,
    scopes: scopes({ minItems: 1, maxItems: SCOPES.length, uniqueItems: true }),
    queues: Type.Optional(
      queues({
        minItems: 1,
        maxItems: MOST_QUEUE_PATTERNS,
        uniqueItems: true,
        description: `${PATTERNS} Default: \`["*"]\`.`,
      }),
    ),
    expires_at: Type.Optional(time('When it ends, within 366 days. Default: never.')),
    expires_in_seconds: Type.Optional(
      decimal({ minimum: 1, maximum: LONGEST_SECONDS, description: 'The same, counted from now.' }),
    ),
  },
  {
    $id: 'NewKey',
    additionalProperties: false,
    description: 'An access key to create.',
    examples: [{ name: 'mailer', scopes: ['produce'], queues: ['mail.*'] }],
  },
);

export const KeyRotation = Type.Object(
  {
    overlap_seconds: Type.Optional(
      decimal({
        minimum: 0,
        maximum: LONGEST_SECONDS,
        description: `How long the old key stays valid beside the new one. Default: ${KEY_OVERLAP_SECONDS}. 0: it is refused at once.`,
      }),
    ),
  },
  {
    $id: 'KeyRotation',
    additionalProperties: false,
    description: 'How to rotate an access key.',
    examples: [{ overlap_seconds: 86_400 }],
  },
);

const shown = {
  id: Type.String({ description: 'Opaque. The key contains it, too.' }),
  name,
  scopes: scopes(),
  queues: queues({ description: PATTERNS }),
  created_at: time('When it was created.'),
  expires_at: nullableTime('When it ends; null: never.'),
  revoked_at: nullableTime('When it was revoked; null: it is not. It is shown for 7 days more.'),
  last_used_at: nullableTime('The minute of its last use; null: it was not used yet.'),
  old_key_expires_at: nullableTime('Until when the key from before the last rotation stays valid.'),
};

const EXAMPLE = {
  id: '01a1fd45-3ed9-708c-acfd-71cdf5000001',
  name: 'mailer',
  scopes: ['produce'],
  queues: ['mail.*'],
  created_at: TIME_EXAMPLE,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  old_key_expires_at: null,
};

export const AccessKey = Type.Object(shown, {
  $id: 'AccessKey',
  description: 'An access key, without the key itself.',
  examples: [EXAMPLE],
});

export const MadeKey = Type.Object(
  {
    ...shown,
    key: Type.String({
      pattern: KEY_PATTERN.source,
      description: 'The key. It is shown this once: Dibs keeps only its hash.',
    }),
  },
  {
    $id: 'MadeKey',
    description: 'An access key that was just made, with the key itself.',
    // Its checksum is wrong, so that no scanner takes it for a leak.
    examples: [{ ...EXAMPLE, key: `dibs_${EXAMPLE.id.replaceAll('-', '')}${'0'.repeat(49)}` }],
  },
);

export const KeyPage = Type.Object(
  {
    keys: Type.Array(ref(AccessKey), { description: 'The access keys.' }),
    ...nextCursor,
  },
  {
    $id: 'KeyPage',
    description: 'A page of access keys.',
    examples: [{ keys: [EXAMPLE], next_cursor: null }],
  },
);
