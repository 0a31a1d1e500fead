/** The commands that work at a database, or for the operator of a process. Each has its own help. */
export const LOCAL: Record<string, { summary: string; options: string[]; help?: string }> = {
  serve: {
    summary: 'run the service; the environment configures it, see the README',
    options: [],
    help: `Usage: dibs serve

  Runs the service until SIGTERM. The environment configures it: see the README.

Examples:
  $ DATABASE_URL=postgres://dibs@db/dibs dibs serve
`,
  },
  migrate: {
    summary: 'bring the database at DATABASE_URL up to date, and exit',
    options: ['--dry-run', '--grant-serve', '--grant-produce'],
    help: `Usage: dibs migrate [--dry-run] [--grant-serve ROLE...] [--grant-produce ROLE...]

  Brings the database at DATABASE_URL up to date, and exits.

  --dry-run              say which migrations are missing, and change nothing
  --grant-serve ROLE     also give a role what \`dibs serve\` needs
  --grant-produce ROLE   also let a role call dibs.enqueue

Examples:
  $ DATABASE_URL=postgres://owner@db/dibs dibs migrate --grant-serve dibs
`,
  },
  work: {
    summary: 'run a command for each job of a queue of the Dibs at DIBS_URL',
    options: [
      '--concurrency',
      '--timeout',
      '--result',
      '--batch',
      '--lease-seconds',
      '--wait-seconds',
      '--stop-seconds',
      '--retry-seconds',
      '--name',
      '--help',
    ],
  },
  keys: {
    summary: 'create, list, rotate or revoke access keys in that database, or in the embedded one',
    options: ['create', 'list', 'rotate', 'revoke', '--help'],
  },
  doctor: {
    summary: 'look at that database, and say what is wrong with it and what to do',
    options: ['--help'],
  },
  export: { summary: 'write its jobs, queues and schedules to a file', options: ['--with-keys', '--help'] },
  import: { summary: 'read such a file into it', options: ['--help'] },
};
