import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { ROOT, textOf } from '../support/sources.ts';

const files = execFileSync(
  'git',
  ['-C', ROOT, 'ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'],
  {
    encoding: 'utf8',
  },
).split('\n');

/** `giveUpAt` and `give_up` as words. */
const wordsOf = (line: string) => line.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll('_', ' ');

const retired = [
  ...(textOf('docs/glossary.md').split('## Retired words')[1] ?? '').matchAll(/^\| ([\w -]+) \| (.+) \|$/gm),
].flatMap(([, word, instead]) => (word && instead && word !== 'Not' ? [{ word, instead }] : []));

describe('code and SQL', () => {
  const sources = files.filter(
    (file) =>
      /^(src|routes|queuesFile|commands|sql)\/.*\.(ts|sql)$/.test(file) &&
      !file.startsWith('sql/migrations/'),
  );
  const lines = sources.flatMap((file) =>
    textOf(file)
      .split('\n')
      .map((line, i) => ({ at: `${file}:${i + 1}: ${line.trim()}`, words: wordsOf(line) })),
  );

  test('the glossary retires words', () => expect(retired.length).toBeGreaterThan(15));

  test.each(retired)('do not say "$word", but $instead', ({ word }) => {
    const said = new RegExp(`\\b${word.replaceAll(/[ -]/g, '[ -]?')}(s|ed|ing)?\\b`, 'i');
    expect(lines.filter(({ words }) => said.test(words)).map(({ at }) => at)).toEqual([]);
  });
});

/** The pairs of a table of the glossary: each phrase that is said no more, and what is said instead. */
function phrasesOf(heading: string): { phrase: string; instead: string }[] {
  const table = textOf('docs/glossary.md').split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...table.matchAll(/^\| (.+) \| (.+) \|$/gm)].flatMap(([, old = '', instead = '']) =>
    old === 'Not'
      ? []
      : old.split('; ').map((phrase) => ({ phrase: phrase.replace(/ \(.*\)$/, ''), instead })),
  );
}
const escaped = (phrase: string) => phrase.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

describe.each([
  [
    'the command line and the OpenAPI document',
    'Words of the command line and the API',
    ['docs/cli.md', 'openapi/openapi.json'],
  ],
  [
    'guides, problems and refusals',
    'Words of the guides and of problems',
    [
      ...['consuming', 'producing', 'operating', 'security', 'problems'].map((page) => `docs/${page}.md`),
      'openapi/openapi.json',
      'src/errors.ts',
      'routes/http/answers/ruleInWords.ts',
    ],
  ],
])('%s', (_, heading, files) => {
  const phrases = phrasesOf(heading);
  // The names of tests stand in quotation marks behind their files.
  const texts = files.map((file) =>
    textOf(file)
      .replaceAll(/\.test\.ts\) "[^"]*"/g, '')
      .replaceAll(/\s+/g, ' '),
  );

  test('have a table of phrases', () => expect(phrases.length).toBeGreaterThan(25));

  test.each(phrases)('do not say "$phrase", but "$instead"', ({ phrase }) => {
    const said = new RegExp(`.{0,30}\\b${escaped(phrase)}(?!\\w).{0,30}`, 'gi');
    expect(texts.flatMap((text) => text.match(said) ?? [])).toEqual([]);
  });
});

describe('the dashboard', () => {
  const phrases = phrasesOf('Words of the page');
  const pages = files.filter((file) => /^web\/src\/.*\.tsx?$/.test(file));

  test.each(phrases)('does not say "$phrase", but "$instead"', ({ phrase }) => {
    const said = new RegExp(`['">\`]\\s*${escaped(phrase)}\\s*['"<.\`]`);
    const text = (file: string) => textOf(file).replaceAll(/\s+/g, ' ');
    expect(pages.filter((file) => said.test(text(file)))).toEqual([]);
  });
});

/** The lines of a page, each empty that is code, a table, a heading, HTML or the address of a link. */
function proseOf(text: string): string[] {
  const withoutCode = text.replaceAll(/^( *)(```|~~~).*?^\1\2$/gms, (code) => code.replaceAll(/.+/g, ''));
  const isOther = /^ {4,}(?![-*\d])|^ *(\||#|>|<|\[[^\]]+\]:)/;
  return withoutCode.split('\n').map((line) => (isOther.test(line) ? '' : line));
}

/** No line ends inside of code or an address. So a line without a space before its end may be longer. */
const canBreakBefore = (line: string, width: number) =>
  line
    .replaceAll(/`[^`]+`|\]\([^)]+\)/g, (whole) => whole.replaceAll(' ', '_'))
    .slice(0, width + 1)
    .replace(/^ *([-*+]|\d+\.)? */, '')
    .includes(' ');

describe('prose', () => {
  const pages = files.filter((file) => file.endsWith('.md'));

  test.each(pages)('of %s is at most 120 characters wide', (page) => {
    const wide = proseOf(textOf(page)).filter((line) => line.length > 120 && canBreakBefore(line, 120));
    expect(wide).toEqual([]);
  });
});
