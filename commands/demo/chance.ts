import { pause } from '../../clients/typescript/src/backoff.ts';
import type { Job } from '../../clients/typescript/src/job.ts';

export const between = (least: number, most: number): number => least + Math.random() * (most - least);
export const happens = (share: number): boolean => Math.random() < share;
export const oneOf = <T>(all: T[]): T => all[Math.floor(Math.random() * all.length)] as T;

/** What the handlers do in place of work. It ends when the job's signal fires. */
export async function napping(job: Job<never> | Job, seconds: number): Promise<void> {
  await pause(seconds * 1000, job.signal);
  job.signal.throwIfAborted();
}
