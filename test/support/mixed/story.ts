import type { Life } from '../life.ts';

const ID = /[0-9a-f]{8}-[-0-9a-f]{27}/g;

/** All that was seen of the jobs that the violations name. Times are in milliseconds since the run began. */
export function storiesOf(violations: string[], lives: Map<string, Life>, began: number): object[] {
  const ids = new Set(violations.slice(0, 10).flatMap((violation) => violation.match(ID) ?? []));
  const relative = (key: string, value: unknown) =>
    typeof value === 'number' && value > began
      ? Math.round(value - began)
      : key === 'jobs'
        ? undefined
        : value;
  return [...ids].flatMap((id) => {
    const life = lives.get(id);
    return life ? [JSON.parse(JSON.stringify(life, relative))] : [];
  });
}
