import { jobNotFound, Refusal } from '../errors.ts';
import type { ItemAnswer, SettleRequest } from '../settle/settleMany.ts';

interface Item {
  id: string;
}
type Lists<T> = { [list in (typeof LISTS)[number]]: T[] };
type Settled = Lists<ItemAnswer<unknown>>;

const LISTS = ['acks', 'nacks', 'releases', 'extends'] as const;

const perList = <T>(make: (list: (typeof LISTS)[number]) => T[]): Lists<T> => ({
  acks: make('acks'),
  nacks: make('nacks'),
  releases: make('releases'),
  extends: make('extends'),
});

/** Settles the items whose jobs the caller may use. The others are answered as if there were no such jobs. */
export async function settleVisible(
  request: SettleRequest,
  settle: (request: SettleRequest) => Promise<Settled>,
  mayUseJob: (id: string) => Promise<boolean>,
): Promise<Settled> {
  const ids = new Set(LISTS.flatMap((list) => (request[list] ?? []).map(({ id }: Item) => id)));
  const visible = new Set<string>();
  await Promise.all(
    [...ids].map(async (id) => {
      const may = await mayUseJob(id).catch((error) => {
        if (error instanceof Refusal && error.code === 'job_not_found') return false;
        throw error;
      });
      if (may) visible.add(id);
    }),
  );
  const own = perList((list) => ((request[list] ?? []) as Item[]).filter(({ id }) => visible.has(id)));
  const settled = await settle({ ...request, ...own } as SettleRequest);
  const at = { acks: 0, nacks: 0, releases: 0, extends: 0 };
  return perList((list) =>
    ((request[list] ?? []) as Item[]).map(({ id }) =>
      visible.has(id) ? (settled[list][at[list]++] as ItemAnswer<unknown>) : { id, refusal: jobNotFound(id) },
    ),
  );
}
