import { textOf } from './sources.ts';

/** A step of the session on a page: what is typed, and what it prints. */
export interface Step {
  typed: string;
  printed: string;
}

/** What is typed stands in a block of bash. What it prints follows at once, as JSON or text. */
export const stepsOf = (page: string): Step[] =>
  [...textOf(page).matchAll(/^```bash\n(.*?)^```\n(?:^```(?:json|text)\n(.*?)^```\n)?/gms)].map((match) => ({
    typed: match[1] as string,
    printed: match[2] ?? '',
  }));

/** A text without the ids and times, which differ from run to run. */
export const steady = (text: string) =>
  text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');
