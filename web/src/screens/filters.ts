import { local } from '../format.ts';

/** The filters of `GET /jobs`. They stand in the address of the page, so that a link shows the same. */
export const FILTERS = [
  'state',
  'batch',
  'group',
  'unique_key',
  'fairness_key',
  'worker',
  'error_contains',
  'payload_contains',
  'created_after',
  'created_before',
  'order',
] as const;
export type Filter = (typeof FILTERS)[number];
export type Filters = Partial<Record<Filter, string>>;

export const filtersOf = (parameters: URLSearchParams): Filters =>
  Object.fromEntries(FILTERS.flatMap((name) => (parameters.get(name) ? [[name, parameters.get(name)]] : [])));

/** `state dead, enqueued after 2026-11-22 09:30:00` */
export const inWords = (filters: Filters): string =>
  FILTERS.flatMap((name) => {
    const value = filters[name];
    if (value === undefined || name === 'order') return [];
    const isTime = name.startsWith('created_');
    return `${name.replace('created', 'enqueued').replaceAll('_', ' ')} ${isTime ? local(value) : value}`;
  }).join(', ');

/** Filters that search one queue: no index has them. */
const IN_A_QUEUE: Filter[] = ['fairness_key', 'worker', 'error_contains', 'created_after', 'created_before'];

/** Whether the filters need a queue. All leases are few, but their payloads are not. */
const needQueue = (filters: Filters): boolean =>
  filters.payload_contains !== undefined ||
  (filters.state !== 'leased' && IN_A_QUEUE.some((name) => filters[name] !== undefined));

/** What may stand beside a batch. */
const WITH_BATCH: Filter[] = ['batch', 'state', 'order'];

/** Why nothing can be searched by these filters. */
export function whyNoSearch(filters: Filters, queue: string | undefined): string | undefined {
  if (filters.batch !== undefined)
    return FILTERS.every((name) => WITH_BATCH.includes(name) || filters[name] === undefined)
      ? undefined
      : 'Jobs of a batch are filtered by state and queue only.';
  return queue === undefined && needQueue(filters)
    ? 'Choose a queue first: jobs are searched by these filters in one queue.'
    : undefined;
}

/** `2026-11-22T09:30` in the zone of the browser, for its own field of times. */
export function toField(time: string | undefined): string {
  if (!time || Number.isNaN(Date.parse(time))) return '';
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export const fromField = (field: string): string => (field === '' ? '' : new Date(field).toISOString());

/** The filter as an operation takes it. Undefined with a filter that operations do not know. */
export function operationFilter(filters: Filters): Record<string, unknown> | undefined {
  const { state, order: _, unique_key, payload_contains, batch, ...rest } = filters;
  if (state === undefined || [unique_key, payload_contains, batch].some((given) => given !== undefined))
    return undefined;
  return { states: [state], ...rest };
}
