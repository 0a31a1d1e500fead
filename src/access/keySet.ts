import { open } from 'node:fs/promises';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { reloaded } from './reloaded.ts';

/** No issuer has that many keys. */
const MAX_BYTES = 1024 * 1024;
const FETCH_MS = 3000;
/** After a load that failed. */
const RETRY_MS = 1000;

/** How old a key set may be: for a token with a key that is in it, and before a token with another key reloads it. */
const AGES = {
  url: { known: 30_000, unknown: 5000 },
  file: { known: 1000, unknown: 1000 },
};

const tooLarge = () => new Error(`it is larger than ${MAX_BYTES} bytes`);

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw tooLarge();
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString();
}

async function fetched(url: string): Promise<string> {
  const response = await fetch(url, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    // A redirect could lead from HTTPS to a place that anybody may answer for.
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_MS),
  });
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel();
    throw new Error(`the answer is ${response.status}`);
  }
  return textOf(response.body);
}

/** The text of a small file. */
export async function readSmallFile(path: string): Promise<string> {
  const file = await open(path);
  try {
    return await textOf(file.createReadStream({ autoClose: false, end: MAX_BYTES }));
  } finally {
    await file.close();
  }
}

export const isUrl = (place: string) => /^https?:\/\//.test(place);

/** What went wrong, with its cause: fetch itself says only that it failed. */
function reason(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error
    ? `${message}: ${cause.message || (cause as { code?: string }).code}`
    : message;
}

/**
 * Finds the key that a token was signed with, in the JWK set (RFC 7517) at a URL or in a file.
 *
 * The function that it returns throws `Away` when the set cannot be had, and an error of jose when the set has no such
 * key.
 */
export async function createKeySet(place: string): Promise<JWTVerifyGetKey> {
  const { createLocalJWKSet, errors } = await import('jose');
  const load = async () => {
    try {
      const text = await (isUrl(place) ? fetched(place) : readSmallFile(place));
      return createLocalJWKSet(JSON.parse(text) as JSONWebKeySet);
    } catch (error) {
      throw new Error(`the keys at ${place} cannot be read: ${reason(error)}`);
    }
  };
  const keys = reloaded(load, RETRY_MS);
  const ages = isUrl(place) ? AGES.url : AGES.file;

  return async (header, token) => {
    const { value } = await keys(ages.known);
    try {
      return await value(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The issuer may have a new key.
      const newer = await keys(ages.unknown);
      if (newer.value === value) throw error;
      return newer.value(header, token);
    }
  };
}
