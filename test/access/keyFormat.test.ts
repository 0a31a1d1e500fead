import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  hashOf,
  idIn,
  KEY_LENGTH,
  KEY_PATTERN,
  newKey,
  newKeyId,
  typoIn,
} from '../../src/access/keyFormat.ts';
import { isUuid } from '../../src/ids.ts';
import { textOf } from '../support/sources.ts';

const key = newKey(newKeyId());

test('a key is dibs_, the id, 256 random bits and a checksum, of one length, and matches the pattern for secret scanners', () => {
  const keys = Array.from({ length: 500 }, () => newKey(newKeyId()));
  expect(new Set(keys).size).toBe(500);
  expect(new Set(keys.map(idIn)).size).toBe(500);
  for (const key of keys) {
    expect(key).toMatch(KEY_PATTERN);
    expect(key).toHaveLength(KEY_LENGTH);
    expect(isUuid(idIn(key))).toBe(true);
    expect(typoIn(key)).toBe(undefined);
  }
  // 43 digits of base 62 hold 256 bits, and each place of the secret takes many digits.
  expect(62n ** 43n > 2n ** 256n).toBe(true);
  for (let at = 38; at < 80; at++) expect(new Set(keys.map((key) => key[at])).size).toBeGreaterThan(30);
});

test('the pattern stands in the docs, for secret scanners', () => {
  expect(textOf('docs/operating.md')).toContain(KEY_PATTERN.source.slice(1, -1));
});

test('the checksum is the CRC-32 that every library has, in base 62', () => {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const value = [...key.slice(80)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
  expect(value).toBe(crc32(key.slice(0, 80)));
});

test('one wrong character is a typo, wherever it stands, and so is a key cut short', () => {
  fc.assert(
    fc.property(fc.nat(KEY_LENGTH - 1), fc.constantFrom(...'0aZ_-é '), (at, wrong) => {
      if (key[at] === wrong) return;
      expect(typoIn(key.slice(0, at) + wrong + key.slice(at + 1))).toMatch(/form|checksum|short/);
    }),
  );
  fc.assert(fc.property(fc.nat(KEY_LENGTH - 1), (length) => typoIn(key.slice(0, length)) !== undefined));
  for (const text of ['', 'dibs_', `${key}0`, ` ${key}`, `${key}\n`, key.toUpperCase()])
    expect(typoIn(text)).toBeDefined();
});

test('what Dibs keeps is the SHA-256 of the whole key', () => {
  expect(hashOf('abc').toString('hex')).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
});
