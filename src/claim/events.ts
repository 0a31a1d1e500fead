import type { LeasedJob } from '../verbs/claims.ts';
import type { Claim } from './claim.ts';
import type { Leases } from './leasedJob.ts';
import type { Statement, Trip, WaitLine } from './waitLine.ts';

/** What happened. */
export type Event =
  | { type: 'arrived'; claim: Claim }
  /** Its `wait_seconds` are over, or a newer request has its claim_id. */
  | { type: 'wait over'; claim: Claim }
  | { type: 'hung up'; claim: Claim }
  /** The replica stops. */
  | { type: 'closed' }
  /** Jobs are ready. Claims that looked in the round trip with this number, or a later one, have seen them. */
  | { type: 'woken'; queue: string; trip?: number | undefined }
  /** The next round trip of the queue may make jobs ready. */
  | { type: 'coming'; queue: string }
  /** A round trip of others puts this number of jobs into the queue. Claims that wait may join it. */
  | { type: 'passing'; queue: string; jobs: number }
  /** It is time for a look that nobody woke. */
  | { type: 'look due'; line: WaitLine }
  /** For a line that joins: whether there is a queue of its name. */
  | { type: 'asked'; line: WaitLine; exists: boolean }
  /** The round trip of a line that joins begins. */
  | { type: 'began'; line: WaitLine; trip: Trip }
  /** A line has left its round trip. `hadBegun`: that trip had begun. */
  | { type: 'left'; line: WaitLine; hadBegun: boolean }
  /** A statement was sent, in its round trip or outside of any. */
  | { type: 'sent'; statement: Statement; isOutside: boolean }
  /** It is known that each claim of a statement gets all that it asked for. */
  | { type: 'filled'; statement: Statement }
  | { type: 'leased'; statement: Statement; leases: Leases }
  /** A statement, or a look for the queue, failed. */
  | { type: 'failed'; line: WaitLine; statement?: Statement; error: unknown }
  /** The rows of its claims are written, or could not be. */
  | { type: 'named'; statement: Statement; error?: unknown };

/** What to do. */
export type Action =
  /** Ask whether the queue of the line exists. If so, the line joins its next round trip. */
  | { type: 'ask'; line: WaitLine; visit: 'first' | 'next' | undefined }
  | { type: 'join'; line: WaitLine }
  | { type: 'lease'; statement: Statement }
  /** Write the rows of its claims: they have a `claim_id`, and their queue is empty. */
  | { type: 'write names'; statement: Statement }
  /** Tell other replicas that a claim waits here for the queue. */
  | { type: 'tell'; queue: string }
  | { type: 'answer'; claim: Claim }
  | { type: 'refuse'; claim: Claim; error: unknown }
  | { type: 'give back'; jobs: LeasedJob[] };
