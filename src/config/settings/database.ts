import type { Settings } from './setting.ts';

export const DATABASE = {
  DATABASE_URL: {
    kind: 'text',
    is: 'URL',
    about:
      '`postgres://user:password@host:5432/database`. Without it, Dibs starts an embedded PostgreSQL. Several hosts, of which one takes writes, are `host1:5432,host2:5432`: see [failover](operating.md#failover). For TLS, see [`sslmode`](operating.md#tls-to-postgresql).',
  },
  DATABASE_LISTEN_URL: {
    kind: 'text',
    is: 'URL',
    about:
      'The same database without a transaction pooler in between, for LISTEN. Without it, Dibs uses `DATABASE_URL`.',
  },
  'DATABASE_URL_<NAME>': {
    kind: 'text',
    is: 'URL',
    about:
      'One more PostgreSQL, called `<name>` in lower case: 1 to 32 of `A-Z 0-9 _`. Queues are spread over all. Every replica has the same ones. See [scaling](scaling.md#several-postgresqls).',
  },
  'DATABASE_LISTEN_URL_<NAME>': {
    kind: 'text',
    is: 'URL',
    about: 'As `DATABASE_LISTEN_URL`, for the database `<name>`.',
  },
  DATABASE_POOL_SIZE: {
    kind: 'integer',
    unit: 'connections',
    default: 10,
    least: 2,
    most: 1000,
    about: 'Connections of this replica to each database. One more is used for LISTEN.',
  },
  DATA_DIR: {
    kind: 'text',
    is: 'path of a folder',
    default: './data',
    about: 'Where the embedded PostgreSQL keeps its data.',
  },
  RESCUE_GRACE_SECONDS: {
    kind: 'integer',
    unit: 'seconds',
    default: 5,
    least: 0,
    most: 60,
    about:
      'After PostgreSQL or all replicas were down: how long leases that ran out meanwhile are left alone, so that [workers that are still running extend them](consuming.md#after-an-outage).',
  },
  PGSSLMODE: {
    kind: 'choice',
    values: ['disable', 'require', 'verify-ca', 'verify-full'],
    default: '',
    about: 'For both URLs, where they have no `sslmode`. Without either, the connection is plain.',
  },
  PGSSLROOTCERT: {
    kind: 'text',
    is: 'path of a PEM file, or `system`',
    about: 'For both URLs, where they have no `sslrootcert`.',
  },
  PGSSLCERT: {
    kind: 'text',
    is: 'path of a PEM file',
    about: 'For both URLs, where they have no `sslcert`.',
  },
  PGSSLKEY: {
    kind: 'text',
    is: 'path of a PEM file',
    about: 'For both URLs, where they have no `sslkey`.',
  },
  PGSSLNEGOTIATION: {
    kind: 'choice',
    values: ['postgres', 'direct'],
    default: '',
    about: 'For both URLs, where they have no `sslnegotiation`. Without either, it is `postgres`.',
  },
  QUEUES_FILE: {
    kind: 'text',
    is: 'path of a file',
    about:
      'A YAML file with queues and schedules as they should be. Each replica applies it at its start, and deletes nothing: [queues as code](queues-as-code.md).',
  },
} satisfies Settings;
