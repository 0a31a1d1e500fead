import type { KeyChange } from './plan.ts';

const PLAIN = /^[\w.:@%+,/-]+$/;
const quoted = (text: string) => (PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** What a person runs, so that a key is as the file says. It prints the secret, which is for nobody else. */
export function keyCommand({ name, isTaken, scopes, queues }: KeyChange): string {
  const revoke = isTaken ? `dibs keys revoke ${quoted(name)} && ` : '';
  const scope = scopes.map((scope) => ` --scope ${scope}`).join('');
  const queue = queues.map((pattern) => ` --queue ${quoted(pattern)}`).join('');
  return `${revoke}dibs keys create ${quoted(name)}${scope}${queue}`;
}
