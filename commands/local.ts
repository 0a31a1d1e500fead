import type { Config } from '../src/config.ts';
import { isTargetNamed } from './remote/contexts.ts';

/** What a command may read of the environment. */
interface Surroundings {
  env: NodeJS.ProcessEnv;
  readConfig(): Config;
}

interface LocalCommand {
  summary: string;
  options: string[];
  /** What stands after its options, for completion. */
  takes?: 'queues';
  /** Of a command that does not print it by itself. */
  help?: string;
  /** Whether these arguments are for the command of the same name in commands/remote/. */
  isRemote?(args: string[], env: NodeJS.ProcessEnv): boolean;
  /** Loads only what the command needs: the whole service takes half a second. */
  run(args: string[], surroundings: Surroundings): Promise<void>;
}

/**
 * Whether `dibs keys` asks a running Dibs: where `--context` says so, or where a Dibs is named and no database is. The first key of
 * a database can be made only there.
 */
export function areKeysRemote(args: string[], env: NodeJS.ProcessEnv): boolean {
  if (args.some((arg) => arg === '--context' || arg.startsWith('--context='))) return true;
  if (args.includes('--print-only') || env.DATABASE_URL || env.DATA_DIR) return false;
  return isTargetNamed(env);
}

/** The commands that work at a database, or for the operator of a process. */
export const LOCAL: Record<string, LocalCommand> = {
  serve: {
    summary: 'run the service; the environment configures it: docs/configuration.md',
    options: [],
    help: `Usage: dibs serve

  Runs the service until SIGTERM. The environment configures it: docs/configuration.md has every variable.

Examples:
  $ DATABASE_URL=postgres://dibs@db/dibs dibs serve
`,
    run: async (args, { readConfig, env }) => {
      (await import('./arguments.ts')).argumentsIn({ args, options: {} });
      await (await import('./serve.ts')).serveCommand(readConfig(), env);
    },
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
    run: async (args, { readConfig }) => (await import('./migrate.ts')).migrateCommand(readConfig(), args),
  },
  work: {
    summary: 'run a command for each job of a queue of the Dibs at DIBS_URL',
    takes: 'queues',
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
      '--json',
      '--help',
    ],
    run: async (args, { env }) => (await import('./work.ts')).workCommand(args, env),
  },
  keys: {
    summary:
      'create, list, rotate or revoke access keys in that database, or in the embedded one; also at a running Dibs',
    options: ['create', 'list', 'rotate', 'revoke', '--create', '--help'],
    isRemote: areKeysRemote,
    run: async (args, { readConfig }) => (await import('./keys.ts')).keysCommand(args, readConfig),
  },
  doctor: {
    summary: 'look at that database, and at all others, and say what is wrong and what to do',
    options: ['--json', '--held-seconds', '--help'],
    run: async (args, { readConfig }) => (await import('./doctor.ts')).doctorCommand(args, readConfig),
  },
  export: {
    summary: 'write its jobs, queues and schedules to a file',
    options: ['--with-keys', '--help'],
    run: async (args, { readConfig }) => (await import('./export.ts')).exportCommand(args, readConfig),
  },
  import: {
    summary: 'read such a file into it, or take the jobs of pg-boss, River or Oban',
    options: [
      '--create',
      '--new-ids',
      '--from',
      '--url',
      '--schema',
      '--source-version',
      '--rename',
      '--dry-run',
      '--help',
    ],
    run: async (args, { readConfig, env }) =>
      (await import('./import.ts')).importCommand(args, readConfig, env),
  },
};
