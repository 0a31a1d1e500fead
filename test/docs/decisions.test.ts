import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ROOT, textOf } from '../support/sources.ts';

const files = readdirSync(`${ROOT}docs/decisions`).filter((file) => file !== 'README.md');
const index = textOf('docs/decisions/README.md');

describe('each decision', () => {
  test.each(files)('%s has its number and title, its status and day, and its row in the index', (file) => {
    const text = textOf(`docs/decisions/${file}`);
    const head =
      /^# (\d+)\. (.+)\n\n(Accepted(?:; amended)?|Superseded by \[\d{4}\]\(.+\)), (\d{4}-\d\d-\d\d)\./.exec(
        text,
      );
    const [, number, title, status, day] = head ?? [];
    expect(number?.padStart(4, '0')).toBe(file.slice(0, 4));
    const short = status?.toLowerCase();
    expect(index).toContain(`| ${number} | [${title}](${file}) | ${short} | ${day} |`);
  });

  test('has a number of its own', () => {
    const numbers = files.map((file) => file.slice(0, 4));
    expect(numbers.length).toBeGreaterThan(50);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  test('of the index has a page', () => {
    const named = [...index.matchAll(/^\| \d+ \| \[.+?\]\((.+?)\)/gm)].map((row) => row[1]);
    expect(named.sort()).toEqual([...files].sort());
  });
});
