import type { WorkerEvent } from '../clients/typescript/src/index.ts';
import { lineOf } from '../clients/typescript/src/reporting.ts';
import { createLogger } from '../src/logger.ts';
import { safeLine } from './shown.ts';
import { UsageError } from './usage.ts';
import type { Env } from './workEnvironment.ts';

type Fields = Record<string, unknown>;
type Level = 'info' | 'warn' | 'error';
/** Says something on standard error: standard output belongs to the commands. */
export type Say = (level: Level, message: string, fields?: Fields) => void;

/** Lines for people, or JSON as `dibs serve` has it. @throws UsageError */
export function workLog({ isJson, env }: { isJson: boolean; env: Env }): Say {
  const format = env.LOG_FORMAT || 'text';
  if (!['json', 'text'].includes(format))
    throw new UsageError(`LOG_FORMAT must be json or text, not "${format}".`);
  if (!isJson && format === 'text')
    return (_, message) => void process.stderr.write(`dibs work: ${safeLine(message)}\n`);
  const logger = createLogger('info', process.stderr);
  return (level, message, fields = {}) => logger[level](fields, message);
}

/** Says what a worker does: what went wrong and, at its end, how much it did. */
export function sayer(say: Say, stopSeconds: number): (event: WorkerEvent) => void {
  const counts = { ack: 0, nack: 0, release: 0 };
  return (event) => {
    const line = lineOf(event);
    if (line) say(line.level, line.message, line.fields);
    if (event.type === 'settled') counts[event.verb]++;
    if (event.type === 'stopping')
      say('info', `claims no more; commands may go on for ${stopSeconds} s`, { stop_seconds: stopSeconds });
    if (event.type === 'stopped') {
      const { ack: done, nack: failed, release: released } = counts;
      say('info', `stopped: ${done} done, ${failed} failed, ${released} released`, {
        done,
        failed,
        released,
      });
    }
  };
}
