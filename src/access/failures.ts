import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { LruMap } from 'toad-cache';
import { rateLimited } from '../errors.ts';
import type { Credential } from './access.ts';

/** Slows down whoever tries wrong keys and tokens, by the address that they come from. */
export interface Failures {
  /** Whether any address may have to wait now. Most of the time there is none, and requests need not ask further. */
  isAnyBlocked(): boolean;
  /** Whether a credential from this address may be checked. @throws Refusal `rate_limited` */
  checkMayTry(address: string, credential: Credential): void;
  failed(address: string, credential: Credential): void;
  /** A check found the credential good. It may be checked again, whatever others at its address do. */
  succeeded(credential: Credential): void;
}

const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;
const MAX_GOOD = 10_000;

interface Count {
  failures: number;
  /** By performance.now(). */
  until: number;
}

/** The groups of an IPv6 address, with those that `::` stands for. */
function groupsOf(address: string): string[] {
  const [before = '', after = ''] = address.split('::');
  const first = before.split(':').filter((group) => group !== '');
  const last = after.split(':').filter((group) => group !== '');
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
}

/** What counts as one address: of IPv6 the first 64 bits, because each host has all of the others. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? `${groupsOf(address).slice(0, 4).join(':')}::/64` : address;
}

const isCredential = ({ token, certificate }: Credential) => token !== undefined || certificate !== undefined;

const hashOf = ({ token = '', certificate = '' }: Credential) =>
  hash('sha256', JSON.stringify([token, certificate]), 'base64url');

/**
 * After `perMinute` failures, an address waits until its minute is over. A request without any credential guesses
 * nothing, so it does not count.
 */
export function createFailures(perMinute: number): Failures {
  const counts = new LruMap<Count>(MAX_ADDRESSES);
  const good = new LruMap<true>(MAX_GOOD);
  let lastBlockEnds = Number.NEGATIVE_INFINITY;

  return {
    isAnyBlocked: () => performance.now() < lastBlockEnds,

    checkMayTry(address, credential) {
      const count = counts.get(networkOf(address));
      const now = performance.now();
      if (!count || count.failures < perMinute || now >= count.until) return;
      if (!isCredential(credential) || good.get(hashOf(credential))) return;
      throw rateLimited(
        'Too many wrong keys or tokens came from this address. Those that were good before are still served.',
        Math.ceil((count.until - now) / 1000),
      );
    },

    failed(address, credential) {
      if (!isCredential(credential)) return;
      if (good.size > 0) good.delete(hashOf(credential));
      const network = networkOf(address);
      const now = performance.now();
      const before = counts.get(network);
      const count = before && now < before.until ? before : { failures: 0, until: now + WINDOW_MS };
      count.failures++;
      counts.set(network, count);
      if (count.failures >= perMinute) lastBlockEnds = Math.max(lastBlockEnds, count.until);
    },

    succeeded(credential) {
      good.set(hashOf(credential), true);
    },
  };
}
