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
  /** Jobs are ready. Claims that looked in this round trip or a later one ran behind what made them so, and need no wake. */
  | { type: 'woken'; queue: string; trip?: number | undefined }
  /** The next round trip of the queue may make jobs ready. */
  | { type: 'coming'; queue: string }
  /** A round trip of others puts this number of jobs into the queue, and claims that wait may go along. */
  | { type: 'passing'; queue: string; jobs: number }
  /** It is time for a look that nobody woke. */
  | { type: 'look due'; line: WaitLine }
  /** For a line that joins: whether there is a queue of its name. */
  | { type: 'asked'; line: WaitLine; exists: boolean }
  /** The round trip of a line that joins begins. */
  | { type: 'began'; line: WaitLine; trip: Trip }
  /** A line that joined takes no part any more. `hadBegun`: its round trip began. */
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
  /** Ask whether the line's queue exists, for a part in its next round trip. */
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
