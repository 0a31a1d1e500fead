import { hash, randomBytes, randomInt } from 'node:crypto';
import { idSource } from '../ids.ts';

/*
 * An access key is `dibs_`, the id of the key (a UUIDv7 without its hyphens), its secret, and a checksum:
 *
 *   dibs_ 01a1fd453ed9708cacfd71cdf5000001 3zR8mXkQ0pW7vN2cJ5tY9bL4hG6sD1fA8eU0iO3qZxC 0k3JbQ
 *
 * The secret is 256 random bits in base62 (digits, capitals, small letters). The checksum is the CRC-32 of all before it, in
 * base62. It tells a typo from a wrong key, and lets secret scanners drop what only looks like a key.
 */

/** For secret scanners, too. The docs print it. */
export const KEY_PATTERN = /^dibs_[0-9a-f]{32}[0-9A-Za-z]{49}$/;
export const KEY_PREFIX = 'dibs_';
export const KEY_LENGTH = 86;

const SECRET_BYTES = 32;
const SECRET_DIGITS = 43;
const CHECKSUM_DIGITS = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = BigInt(DIGITS.length);

function base62(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest /= BASE) text = DIGITS[Number(rest % BASE)] + text;
  return text;
}

/** The polynomial of CRC-32 (ISO 3309), its bits reversed. zlib.crc32 is not in every Node 22. */
const POLYNOMIAL = 0xedb88320;

function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

const checksumOf = (text: string) => base62(BigInt(crc32(text)), CHECKSUM_DIGITS);

const newId = idSource(Date.now);

/** The id of a new key. */
export const newKeyId = (): string => newId(randomInt(2 ** 24));

/** A new key with this id, which is a UUID. */
export function newKey(id: string): string {
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_DIGITS);
  const rest = `${KEY_PREFIX}${id.replaceAll('-', '')}${secret}`;
  return rest + checksumOf(rest);
}

/** The 32 hex digits of the id in a key. */
export const idDigitsIn = (key: string): string =>
  key.slice(KEY_PREFIX.length, KEY_LENGTH - SECRET_DIGITS - CHECKSUM_DIGITS);

/** The id in a key, as a UUID. */
export const idIn = (key: string): string =>
  idDigitsIn(key).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** Why a text cannot be a key. Undefined when it may be one: only the database knows. */
export function typoIn(text: string): string | undefined {
  if (text.length < KEY_LENGTH) return 'the key is cut short';
  if (!KEY_PATTERN.test(text)) return 'the key does not have the form of one';
  const end = KEY_LENGTH - CHECKSUM_DIGITS;
  return checksumOf(text.slice(0, end)) === text.slice(end) ? undefined : 'the checksum of the key is wrong';
}

/** What Dibs keeps of a key. The key has 256 random bits, so a slow hash would protect nothing more. */
export const hashOf = (key: string): Buffer => hash('sha256', key, 'buffer');
