import { textOf } from './sources.ts';

export interface PageFile {
  name: string;
  text: string;
}

/** The part of a page under a heading of the second level. */
export function sectionOf(page: string, heading: string): string {
  const parts = textOf(page).split(/^## /m);
  const part = parts.find((text) => text.startsWith(`${heading}\n`));
  if (part === undefined) throw new Error(`${page} has no heading "${heading}"`);
  return part;
}

/** The files in a text: each is a code block under a paragraph that begins with its name in backticks, and ends with a colon. */
export const filesOf = (text: string): PageFile[] =>
  [...text.matchAll(/^`([\w./-]+\.\w+)`(?:(?!\n\n).)*:\n\n```\w+\n(.*?)^```$/gms)].map((match) => ({
    name: match[1] as string,
    text: match[2] as string,
  }));
