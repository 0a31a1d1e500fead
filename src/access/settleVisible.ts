import { jobNotFound, Refusal } from '../errors.ts';
import type { ItemAnswer, SettleRequest } from '../verbs/settle.ts';

interface Item {
  id: string;
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

/**
 * Settles the items whose jobs the caller may use. The others go along as items of no job. So a malformed item refuses
 * the whole request, whosever job it names.
 */
export async function settleVisible(
  request: SettleRequest,
  settle: (request: SettleRequest) => Promise<Settled>,
  mayUseJob: (id: string) => boolean | Promise<boolean>,
): Promise<Settled> {
  const itemsOf = (list: (typeof LISTS)[number]): Item[] => request[list] ?? [];
  const ids = new Set(LISTS.flatMap((list) => itemsOf(list).map(({ id }) => id)));
  const visible = new Set<string>();
  await Promise.all(
    [...ids].map(async (id) => {
      try {
        if (await mayUseJob(id)) visible.add(id);
      } catch (error) {
        if (!(error instanceof Refusal && error.code === 'job_not_found')) throw error;
      }
    }),
  );
  if (visible.size === ids.size) return settle(request);
  const own = perList((list) =>
    itemsOf(list).map((item) => (visible.has(item.id) ? item : { ...item, id: NO_JOB })),
  );
  const settled = await settle({ ...request, ...own } as SettleRequest);
  const answers = perList((list) =>
    itemsOf(list).map(({ id }, i) =>
      visible.has(id) ? (settled[list][i] as ItemAnswer<unknown>) : { id, refusal: jobNotFound(id) },
    ),
  );
  // The jobs of a claim that goes along stay as they are.
  return { ...settled, ...answers };
}
