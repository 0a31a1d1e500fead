import type { Command } from 'commander';
import { number, several } from './cli.ts';
import { headersOf } from './input.ts';
import { objectOf } from './jsonText.ts';

export interface JobOptions {
  header?: string[];
  priority?: number;
  delaySeconds?: number;
  runAt?: string;
  maxAttempts?: number;
  uniqueKey?: string;
  uniqueForSeconds?: number;
  group?: string;
  fairnessKey?: string;
  expiresInSeconds?: number;
}

/** What a new job may have, as `POST /jobs` names it. */
export const withJobOptions = (command: Command): Command =>
  command
    .option('--priority <n>', 'from -100 to 100, higher first', number(-100, 100))
    .option('--delay-seconds <n>', 'how long from now it becomes ready', number())
    .option('--run-at <time>', 'when it becomes ready (RFC 3339)')
    .option('--max-attempts <n>', "how often it is tried (the queue's)", number(1))
    .option('--unique-key <key>', 'at most one unfinished job of the queue has it')
    .option('--unique-for-seconds <n>', 'the key stays taken for so long', number())
    .option('--group <group>', 'its jobs go one at a time, in order')
    .option('--fairness-key <key>', 'the keys of a queue take turns')
    .option('--expires-in-seconds <n>', 'it is dead when nobody claims it for so long', number())
    .option('--header <name=value>', 'metadata for the worker; may be given several times', several);

/** The body of `POST /jobs`, as text: the payload stays as it is. */
export function specOf(queue: string, payload: string | undefined, options: JobOptions): string {
  const given = {
    queue,
    headers: headersOf(options.header),
    priority: options.priority,
    delay_seconds: options.delaySeconds,
    run_at: options.runAt,
    max_attempts: options.maxAttempts,
    unique_key: options.uniqueKey,
    unique_for_seconds: options.uniqueForSeconds,
    group: options.group,
    fairness_key: options.fairnessKey,
    expires_in_seconds: options.expiresInSeconds,
  };
  const parts = Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [name, JSON.stringify(value)]);
  return objectOf(payload === undefined ? parts : [...parts, ['payload', payload]]);
}
