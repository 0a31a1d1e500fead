import { batchNotFound, isOutage, jobNotFound, Refusal } from '../errors.ts';
import type { ItemAnswer, SettleRequest } from '../verbs/settle.ts';

interface Item {
  id: string;
  enqueue?: { batch?: string | undefined }[] | undefined;
}
type Lists<T> = { [list in (typeof LISTS)[number]]: T[] };
type Settled = Lists<ItemAnswer<unknown>>;

const LISTS = ['acks', 'nacks', 'releases', 'extends'] as const;

/** No job has it. */
const NO_JOB = 'none';

const perList = <T>(make: (list: (typeof LISTS)[number]) => T[]): Lists<T> => ({
  acks: make('acks'),
  nacks: make('nacks'),
  releases: make('releases'),
  extends: make('extends'),
});

/** Those of these jobs and batches whose queues the caller may use, and those of which nobody can tell now. */
async function usableOf(ids: Set<string>, mayUseJob: (id: string) => boolean | Promise<boolean>) {
  const usable = new Set<string>();
  const outages = new Map<string, Refusal>();
  await Promise.all(
    [...ids].map(async (id) => {
      try {
        if (await mayUseJob(id)) usable.add(id);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (isOutage(error)) outages.set(id, error);
        else if (error.code !== 'job_not_found') throw error;
      }
    }),
  );
  return { usable, outages };
}

/**
 * Settles the items whose jobs, and whose batches of follow-ups, the caller may use. The others go along as items of no job. So a malformed item refuses
 * the whole request, whosever job it names.
 */
export async function settleVisible(
  request: SettleRequest,
  settle: (request: SettleRequest) => Promise<Settled>,
  mayUseJob: (id: string) => boolean | Promise<boolean>,
): Promise<Settled> {
  const itemsOf = (list: (typeof LISTS)[number]): Item[] => request[list] ?? [];
  const all = LISTS.flatMap(itemsOf);
  const batchesOf = ({ enqueue }: Item) => enqueue?.flatMap(({ batch }) => batch ?? []) ?? [];
  const named = (item: Item) => [item.id, ...batchesOf(item)];
  const { usable, outages } = await usableOf(new Set(all.flatMap(named)), mayUseJob);
  const refusals = new Map<Item, Refusal>();
  for (const item of all) {
    const foreign = named(item).find((id) => !usable.has(id));
    if (foreign === undefined) continue;
    refusals.set(item, outages.get(foreign) ?? (foreign === item.id ? jobNotFound : batchNotFound)(foreign));
  }
  const [first] = refusals.values();
  if (first === undefined) return settle(request);
  if (refusals.size === all.length && [...refusals.values()].every(isOutage)) throw first;
  const own = perList((list) =>
    itemsOf(list).map((item) => (refusals.has(item) ? { ...item, id: NO_JOB } : item)),
  );
  const settled = await settle({ ...request, ...own } as SettleRequest);
  const answers = perList((list) =>
    itemsOf(list).map((item, i) => {
      const refusal = refusals.get(item);
      return refusal ? { id: item.id, refusal } : (settled[list][i] as ItemAnswer<unknown>);
    }),
  );
  // The jobs of a claim that goes along stay as they are.
  return { ...settled, ...answers };
}
