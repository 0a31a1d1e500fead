import { randomUUID } from 'node:crypto';
import { setImmediate as nextLoop, setTimeout as sleep } from 'node:timers/promises';
import { sizeOf } from '../job.ts';
import type { Ledger } from '../ledger.ts';
import { COPIES } from '../memory.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import { type ClaimName, type ClaimRequest, queuesOf } from './claim.ts';
import { findLeases, markOf, takenOf } from './claimRows.ts';
import type { OpenClaim } from './dispatcher.ts';
import { toLeases } from './leasedJob.ts';

type MakeClaim = (request: ClaimRequest, name?: ClaimName) => OpenClaim;
type RepeatableClaim = Pick<OpenClaim, 'jobs' | 'abandon'>;

/** A request asks again after this time while another one looks at the queues of its claim. */
const ASK_AGAIN_MS = 20;
/** The marks that a replica remembers. The request of a claim that it knows asks for leases first. */
const MOST_KNOWN = 10_000;

/** What the requests of a process are answered together. `name` answers for the leases until all of them have hung up. */
interface Answer {
  name: ClaimName;
  jobs: LeasedJob[];
  /** The requests that it was given to, and that have not hung up. */
  requests: number;
}

/** The one request of a claim that claims jobs in this process. The others wait for it. */
interface Leader {
  holder: string;
  /** Lets it wait no longer. Settles when it is answered. */
  replace(): Promise<Answer>;
}

/**
 * Makes claims that may have a `claim_id`. A claim with one leases as others do, but its transaction fails when another
 * request of the same claim was first (sql/claim/own.sql). Then, and whenever the claim is known here already, the request
 * asks for the leases of the claim (sql/claim/repeat.sql) before it leases anything. Within a process the newest request
 * waits until the one before it has looked at its queues, and takes its place if that one found nothing.
 */
export function repeatableClaims(context: {
  db: Database;
  queues: Queues;
  claim: MakeClaim;
  notifier: Notifier;
  /** The request does not answer for its claim any more. What nobody answers for goes back. */
  leave(name: ClaimName): void;
  ledger: Ledger;
  log: (error: unknown, message: string) => void;
}) {
  const { db, queues, claim, notifier, leave, ledger, log } = context;
  const leaders = new Map<string, Leader>();
  const newest = new Map<string, ClaimName>();
  const known = new Set<string>();
  const running = new Set<Promise<unknown>>();
  ledger.count('claim_ids', () => leaders.size + newest.size + running.size);

  function remember(mark: string): void {
    known.delete(mark);
    known.add(mark);
    if (known.size <= MOST_KNOWN) return;
    const [oldest] = known;
    known.delete(oldest as string);
  }

  /** Once all who wait for an answer have it, nobody may be left to take it. */
  function leaveIfUnused(answer: Answer): void {
    if (answer.jobs.length === 0) return;
    const left = nextLoop()
      .then(() => {
        if (answer.requests === 0) leave(answer.name);
      })
      .finally(() => running.delete(left));
    running.add(left);
  }

  function repeatableClaim(request: ClaimRequest, id: string): RepeatableClaim {
    const names = queuesOf(request);
    const name: ClaimName = { mark: markOf(id, names), holder: randomUUID() };
    const { mark } = name;
    const waitsUntil = performance.now() + (request.wait_seconds ?? 0) * 1000;
    let gone = false;
    let replaced = false;
    let made: OpenClaim | undefined;
    /** It has taken the claim, and others wait until its claim has the row. */
    let holdsLook = false;
    let answer: Answer | undefined;
    const waitSeconds = () => (replaced ? 0 : Math.max(0, (waitsUntil - performance.now()) / 1000));

    /** For an answer that another claim has leased. @throws Refusal `overloaded` */
    const takeMemory = (jobs: LeasedJob[]) =>
      request.hold?.().take(jobs.reduce((sum, job) => sum + sizeOf(job), 0) * (COPIES - 1));

    /**
     * The leases of the claim, once no other request looks at its queues. Undefined when there are none. Then this request may
     * take the claim.
     */
    async function find(takes: boolean): Promise<LeasedJob[] | undefined> {
      remember(mark);
      // What it came with may end the leases of the claim.
      await request.settling;
      try {
        while (!gone) {
          const { rows, looks, waiter } = await findLeases(db, name, { takes, waits: waitSeconds() > 0 });
          if (rows.length > 0) {
            const jobs = await toLeases(rows, names, queues);
            takeMemory(jobs);
            return jobs;
          }
          if (!looks) {
            holdsLook = takes;
            if (waiter && takes) notifier.replaced(mark, waiter);
            return undefined;
          }
          await sleep(ASK_AGAIN_MS);
        }
        return undefined;
      } catch (error) {
        // It may answer for the leases by now.
        leave(name);
        throw error;
      }
    }

    /** Claims jobs once. Returns undefined when another request was first: then there are leases to find. */
    async function claimOnce(): Promise<LeasedJob[] | undefined> {
      made = claim({ ...request, wait_seconds: waitSeconds() }, name);
      if (gone) made.abandon();
      const jobs = await made.jobs;
      if (made.hasOwned()) remember(mark);
      if (jobs.length > 0 || gone || !made.isTaken()) return jobs;
      if (!made.hasOwned() && !replaced) return undefined;
      // The request that took it is newer.
      return made.hasLooked() ? [] : ((await find(false)) ?? []);
    }

    async function lead(): Promise<LeasedJob[]> {
      try {
        let jobs = known.has(mark) ? await find(true) : undefined;
        while (!jobs && !gone) jobs = (await claimOnce()) ?? (await find(true));
        return jobs ?? [];
      } finally {
        if (holdsLook && !made?.hasOwned()) leave(name);
      }
    }

    /** Becomes the leader of its claim in this process. */
    function startLeading(): Promise<Answer> {
      const none = { name, jobs: [], requests: 0 };
      const leading = lead()
        .finally(() => leaders.delete(mark))
        .then((jobs) => ({ ...none, jobs }));
      const replace = () => {
        replaced = true;
        made?.replace();
        // Its refusal is its own. The next request tries by itself.
        return leading.catch(() => none);
      };
      leaders.set(mark, { holder: name.holder, replace });
      leading.then(leaveIfUnused, () => undefined);
      return leading;
    }

    async function findAnswer(): Promise<Answer | undefined> {
      newest.set(mark, name);
      for (let leader = leaders.get(mark); leader; leader = leaders.get(mark)) {
        const shared = await leader.replace();
        if (shared.jobs.length > 0) return shared;
        if (gone || newest.get(mark) !== name) return undefined;
      }
      return startLeading();
    }

    async function take(): Promise<LeasedJob[]> {
      const found = await findAnswer();
      if (!found || gone) return [];
      if (found.name !== name) takeMemory(found.jobs);
      answer = found;
      answer.requests++;
      return answer.jobs;
    }

    const jobs = take().finally(() => {
      running.delete(jobs);
      if (newest.get(mark) === name) newest.delete(mark);
    });
    running.add(jobs);

    return {
      jobs,
      abandon() {
        if (gone) return;
        gone = true;
        made?.abandon();
        if (!answer) return;
        answer.requests--;
        leaveIfUnused(answer);
      },
    };
  }

  return {
    claim: (request: ClaimRequest): RepeatableClaim =>
      request.claim_id === undefined ? claim(request) : repeatableClaim(request, request.claim_id),

    /** Another replica took this claim from a request that waits, maybe here. */
    replaced(mark: string, holder: string): void {
      const leader = leaders.get(mark);
      if (leader?.holder === holder) void leader.replace();
    },

    /** Notifications may have been lost. */
    check(): void {
      const names = [...leaders].map(([mark, { holder }]) => ({ mark, holder }));
      if (names.length === 0) return;
      takenOf(db, names).then(
        (taken) => {
          for (const mark of taken) void leaders.get(mark)?.replace();
        },
        (error) => log(error, 'claims that wait were not checked'),
      );
    },

    /** Settles when no claim is under way. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
