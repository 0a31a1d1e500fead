import type { Life } from '../life.ts';

const ID = /[0-9a-f]{8}-[-0-9a-f]{27}/g;

/** All that was seen of the jobs that the violations name, and of others with their payload. Times are in milliseconds since the run began. */
export function storiesOf(violations: string[], lives: Map<string, Life>, began: number): object[] {
  const ids = new Set(violations.slice(0, 10).flatMap((violation) => violation.match(ID) ?? []));
  const relative = (key: string, value: unknown) =>
    typeof value === 'number' && value > began
      ? Math.round(value - began)
      : key === 'jobs'
        ? undefined
        : value;
  const tagOf = (life: Life | undefined) => life?.intent.spec.payload.tag;
  const tags = new Set([...ids].map((id) => tagOf(lives.get(id))));
  return [...lives.values()]
    .filter((life) => tags.has(tagOf(life)))
    .map((life) => JSON.parse(JSON.stringify(life, relative)));
}
