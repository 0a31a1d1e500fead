import { type TextArray, textArray } from '../postgres/textArray.ts';

/** A column that few jobs have. It is null as a whole when no job has it. */
export const ifAny = <J, T>(jobs: J[], pick: (job: J) => T | null): (T | null)[] | null =>
  jobs.some((job) => pick(job) !== null) ? jobs.map(pick) : null;

export function textsIfAny<J>(jobs: J[], pick: (job: J) => string | null): TextArray | null {
  const texts = ifAny(jobs, pick);
  return texts && textArray(texts);
}
