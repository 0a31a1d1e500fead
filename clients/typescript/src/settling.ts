import { backoffMs } from './backoff.ts';
import { RawJson } from './caller.ts';
import type { Claimant, Claiming } from './claiming.ts';
import { DibsError, isLeaseOver, isTemporary, mayBeDone, refusedBy } from './errors.ts';
import { messageOf } from './errorText.ts';
import type { LeasedJob, Problem, SettleResult, SettleResults } from './generated.ts';
import { failureOf } from './handling.ts';
import { nackFor, Outbox, requestOf, type Settlement, settlementOf } from './outbox.ts';
import { Nack, type Outcome } from './outcome.ts';
import type { Run } from './run.ts';
import { listIn } from './shape.ts';

const now = () => performance.now();

/** What settling needs of its worker. */
export interface Settler extends Pick<Claimant, 'client' | 'observe' | 'pump'> {
  done(run: Run): void;
}

/** Settles all that is done in one request, which may carry a claim. */
export class Settling {
  readonly #worker: Settler;
  readonly #claiming: Claiming;
  readonly #outbox = new Outbox();
  /** A settlement is on its way. */
  isSending = false;
  #failures = 0;
  #notBefore = 0;

  constructor(worker: Settler, claiming: Claiming) {
    this.#worker = worker;
    this.#claiming = claiming;
  }

  /** Whether settlements wait for a request that may go. */
  get isDue(): boolean {
    return this.#outbox.size > 0 && !this.isSending;
  }

  /** How long they must wait before they may be sent. */
  waitMs(at: number): number {
    return Math.max(this.#notBefore - at, this.#outbox.waitMs(at) ?? 0);
  }

  add(run: Run, outcome: Outcome): void {
    run.state = 'settling';
    this.#add(settlementOf(run, outcome));
  }

  #add(settlement: Settlement): void {
    const { run, outcome } = settlement;
    if (outcome instanceof Nack) this.#worker.observe(failureOf(run, outcome));
    this.#outbox.add(settlement);
    this.#worker.pump();
  }

  /** Where a settlement goes alone, a claim does not go with it. So it is known which of them is refused. */
  async send(mayCarry: boolean): Promise<void> {
    const at = now();
    const withClaim = mayCarry && !this.#outbox.isNextAlone(at);
    this.isSending = true;
    if (withClaim) {
      this.#claiming.isSending = true;
      this.#claiming.isCarried = true;
    }
    // Handlers that end together are settled together.
    await undefined;
    const batch = this.#outbox.take(at);
    const { text, parts } = requestOf(batch, withClaim ? this.#claiming.next(0) : undefined);
    try {
      const answer: SettleResults = await this.#worker.client.request({
        method: 'POST',
        path: '/jobs/settle',
        body: new RawJson(text),
      });
      const results = parts.map(({ list, items }) =>
        items.length === 0 ? [] : listIn<SettleResult>(answer, list, items.length),
      );
      const jobs = withClaim && !answer.problem ? listIn<LeasedJob>(answer, 'jobs') : [];
      this.#failures = 0;
      // One for all: what goes again goes together.
      const random = Math.random();
      for (const [i, { items }] of parts.entries())
        for (const [j, settlement] of items.entries()) this.#answered(settlement, results[i]?.[j], random);
      if (withClaim) this.#answeredClaim(jobs, answer.problem);
    } catch (error) {
      this.#batchFailed(batch, withClaim, error);
      if (withClaim) this.#claiming.carrierFailed(error, this.#notBefore);
    } finally {
      this.isSending = false;
      if (withClaim) {
        this.#claiming.isSending = false;
        this.#claiming.isCarried = false;
      }
      this.#worker.pump();
    }
  }

  #answeredClaim(jobs: LeasedJob[], problem: Problem | undefined): void {
    if (problem) this.#claiming.failed(new DibsError(problem));
    else if (this.#claiming.open) this.#claiming.claimed(this.#claiming.open, jobs);
  }

  #answered(settlement: Settlement, result: SettleResult | undefined, random: number): void {
    const { run, verb, isRepeated } = settlement;
    const status = result?.status ?? 500;
    const isOver = isLeaseOver(result?.problem?.code ?? '');
    if (result && (status < 300 || (isOver && isRepeated))) {
      this.#worker.done(run);
      this.#worker.observe({ type: 'settled', job: run.job, verb, result });
    } else if (isOver) {
      this.#worker.done(run);
      this.#worker.observe({ type: 'lost', job: run.job, verb });
    } else {
      const error = new DibsError(
        (result?.problem ?? { status, code: 'internal', detail: 'no result' }) as Problem,
      );
      if (isTemporary(error)) this.#again(settlement, error, random);
      else this.#refused(settlement, error);
    }
  }

  #batchFailed(batch: Settlement[], withClaim: boolean, error: unknown): void {
    const mayCount = mayBeDone(error);
    for (const settlement of batch) if (mayCount) settlement.isRepeated = true;
    // One of them may be what Dibs fails at.
    if (error instanceof DibsError && error.status === 500) for (const one of batch) one.isAlone = true;
    const refused = error instanceof DibsError && !isTemporary(error) ? refusedBy(error) : 'the way';
    if (refused === 'the way') {
      const ms = backoffMs(this.#failures++, error);
      this.#notBefore = now() + ms;
      this.#outbox.add(...batch);
      this.#worker.observe({ type: 'retrying', request: 'settle', error, seconds: ms / 1000 });
    } else if (withClaim || (batch.length > 1 && refused === 'the content')) {
      // One of them, or the claim, is what Dibs refuses.
      for (const settlement of batch) settlement.isAlone = true;
      this.#outbox.add(...batch);
    } else for (const settlement of batch) this.#refused(settlement, error as DibsError);
  }

  #again(settlement: Settlement, error: unknown, random: number): void {
    const ms = backoffMs(settlement.failures++, error, () => random);
    if (mayBeDone(error)) settlement.isRepeated = true;
    settlement.notBefore = now() + ms;
    this.#outbox.add(settlement);
    this.#worker.observe({ type: 'retrying', request: 'settle', error, seconds: ms / 1000 });
  }

  /** Dibs never takes it: a result is too large, or a follow-up or a delay is wrong. A nack that says so goes in its place, once. */
  #refused(settlement: Settlement, error: DibsError): void {
    const { run, outcome, verb, isLast } = settlement;
    this.#worker.observe({ type: 'refused', job: run.job, verb, error });
    if (isLast || refusedBy(error) === 'the sender') this.#worker.done(run);
    else this.#add(settlementOf(run, nackFor(outcome, messageOf(error)), true));
  }
}
