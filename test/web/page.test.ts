import { readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { jsonProblem, memberText, prettyJson } from '../../web/src/json.ts';
import { ROOT } from '../support/sources.ts';

const BUILT = `${ROOT}dist/web/`;
/** What a browser loads, compressed. */
const MOST_BYTES = 150_000;

describe('the built page', () => {
  const assets = readdirSync(`${BUILT}dashboard`);

  test('is small, has names with hashes, and loads nothing from elsewhere', () => {
    const compressed = assets.filter((name) => name.endsWith('.gz'));
    const bytes = compressed.reduce((sum, name) => sum + statSync(`${BUILT}dashboard/${name}`).size, 0);
    expect(compressed.length).toBe(assets.length / 2);
    expect(bytes).toBeLessThan(MOST_BYTES);
    for (const name of compressed) expect(name).toMatch(/-[\w-]{8}\.(js|css|svg)\.gz$/);
    const page = readFileSync(`${BUILT}index.html`, 'utf8');
    expect([...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to]) => to)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^\.\/dashboard\/index-.*\.js$/)]),
    );
    expect(page).not.toMatch(/https?:/);
  });

  test('carries the licences of what is in it', () => {
    const texts = readFileSync(`${BUILT}licences.txt`, 'utf8');
    for (const name of ['preact', 'uplot', 'croner']) expect(texts).toMatch(new RegExp(`^${name}$`, 'm'));
    expect(texts.match(/Permission is hereby granted/g)).toHaveLength(3);
  });
});

describe('JSON as text', () => {
  test.each([
    ['{"a":1.0,"a":12345678901234567890}', '{\n  "a": 1.0,\n  "a": 12345678901234567890\n}'],
    ['[]', '[]'],
    ['{"e":{},"n":[ ] }', '{\n  "e": {},\n  "n": []\n}'],
    ['[1,[2,{"b":null}]]', '[\n  1,\n  [\n    2,\n    {\n      "b": null\n    }\n  ]\n]'],
    ['"a{b,[c: \\" ]}"', '"a{b,[c: \\" ]}"'],
    ['1e400', '1e400'],
  ])('%s is laid out with each token as it was', (text, pretty) => {
    expect(prettyJson(text)).toBe(pretty);
  });

  test('a member is found as it was written, and only at the top', () => {
    const text =
      '{"in":{"result":1},"s":"\\"result\\":2","result": {"n": 1.00, "l":[1,{"x":2}]} ,"last":true}';
    expect(memberText(text, 'result')).toBe('{"n": 1.00, "l":[1,{"x":2}]}');
    expect(memberText(text, 'last')).toBe('true');
    expect(memberText(text, 'l')).toBeUndefined();
    expect(memberText('{}', 'l')).toBeUndefined();
    expect(memberText('{"r\\u0065sult":7}', 'result')).toBe('7');
  });

  test('what is no JSON is told', () => {
    expect(jsonProblem('{"a":1e400}')).toBeUndefined();
    expect(jsonProblem('{"a":')).toMatch(/JSON/);
  });
});
