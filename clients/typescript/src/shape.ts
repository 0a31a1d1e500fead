import { ConnectionError } from './errors.ts';

/** JSON that something before Dibs made, or a half of it, is as good as no answer. @throws ConnectionError */
export function listIn<T>(answer: unknown, name: string, length?: number): T[] {
  const list = (answer as Record<string, unknown> | null | undefined)?.[name];
  const isGood =
    Array.isArray(list) &&
    (length === undefined || list.length === length) &&
    list.every((item) => typeof item === 'object' && item !== null && typeof item.id === 'string');
  if (!isGood) throw new ConnectionError(`the answer has no ${name} as Dibs gives them`);
  return list;
}
