import { isOutage, Refusal, withUnknownOutcome } from '../errors.ts';
import type { Job } from '../job.ts';
import { eachOf, inSlicesIf } from '../slices.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type {
  Ack,
  Acked,
  Extend,
  Extended,
  ItemAnswer,
  Nack,
  Nacked,
  Release,
  Settled,
  SettleRequest,
} from '../verbs/settle.ts';

/** The path of a follow-up within the request. */
const pathOf =
  (list: string, item: number): PathOf =>
  (i) =>
    `/${list}/${item}/enqueue/${i}`;

/** What an outage refuses. Where there are several databases, it is of one of them: the others have settled their items. */
type OutageRefuses = 'the call' | 'its items';

async function answersTo<Item extends { id: string }, Result>(
  outage: OutageRefuses,
  items: Item[] = [],
  verb: (item: Item, i: number) => Promise<Result>,
): Promise<ItemAnswer<Result>[]> {
  return Promise.all(
    items.map(async (item, i) => {
      try {
        return { id: item.id, result: await verb(item, i) };
      } catch (error) {
        // A stale lease refuses only its own item.
        if (!(error instanceof Refusal) || (outage === 'the call' && isOutage(error))) throw error;
        return { id: item.id, refusal: error };
      }
    }),
  );
}

/** Every item was refused by an outage. */
export class NothingSettled extends Refusal {
  readonly settled: Settled;

  constructor(settled: Settled, refusals: [Refusal, ...Refusal[]]) {
    const { code, message, errors, outcome, cause } =
      refusals.find((refusal) => refusal.outcome === 'unknown') ?? refusals[0];
    super(code, message, errors, outcome, cause);
    this.settled = settled;
  }
}

/** @throws NothingSettled where no item was answered otherwise */
function orNothingSettled(settled: Settled): Settled {
  const { acks, nacks, releases, extends: extended } = settled;
  const answers: ItemAnswer<unknown>[] = [...acks, ...nacks, ...releases, ...extended];
  const outages = answers.flatMap((answer) =>
    'refusal' in answer && isOutage(answer.refusal) ? answer.refusal : [],
  );
  const [first, ...others] = outages;
  if (first && outages.length === answers.length) throw new NothingSettled(settled, [first, ...others]);
  return settled;
}

/** More follow-ups are checked in slices: there may be nearly 100,000 of them. */
const CHECKED_AT_ONCE = 100;

type Check = (jobs: NewJob[], at: PathOf) => void;

function* checkFollowUps(request: SettleRequest, check: Check): Generator<void, void> {
  for (const list of ['acks', 'nacks'] as const)
    yield* eachOf<Ack | Nack>(request[list] ?? [], ({ enqueue }, i) => {
      if (enqueue) check(enqueue, pathOf(list, i));
    });
}

const itemsOf = ({ acks = [], nacks = [], releases = [], extends: extended = [] }: SettleRequest) =>
  acks.length + nacks.length + releases.length + extended.length;

/** Settles many jobs at once. A follow-up that would be refused refuses the whole call, before anything is settled. */
export function createSettleMany(
  verbs: {
    check: Check;
    ack(item: Ack, at: PathOf): Promise<Acked>;
    nack(item: Nack, at: PathOf): Promise<Nacked>;
    release(item: Release): Promise<Job>;
    extend(item: Extend): Promise<Extended>;
  },
  outage: OutageRefuses = 'the call',
) {
  const { check, ack, nack, release, extend } = verbs;
  return async (request: SettleRequest): Promise<Settled> => {
    const followUps = [request.acks, request.nacks]
      .flatMap((items: (Ack | Nack)[] = []) => items)
      .reduce((count, { enqueue }) => count + (enqueue?.length ?? 0), 0);
    if (followUps > 0) await inSlicesIf(followUps > CHECKED_AT_ONCE, checkFollowUps(request, check));
    const { by } = request;
    const [acks, nacks, releases, extended] = await Promise.all([
      answersTo(outage, request.acks, (item, i) =>
        ack(item.enqueue ? { ...item, by } : item, pathOf('acks', i)),
      ),
      answersTo(outage, request.nacks, (item, i) => nack({ ...item, by }, pathOf('nacks', i))),
      answersTo(outage, request.releases, (item) => release({ ...item, by })),
      answersTo(outage, request.extends, extend),
    ]).catch((error) => {
      // Other items may be settled.
      throw itemsOf(request) > 1 ? withUnknownOutcome(error) : error;
    });
    return orNothingSettled({ acks, nacks, releases, extends: extended });
  };
}
