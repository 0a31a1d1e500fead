export const count = (number: number): string => number.toLocaleString('en-US');

/** "1 job", "1,500 jobs"; with a verb "1 job matches", "2 jobs match" */
export function counted(number: number, noun = 'job', verb?: { one: string; many: string }): string {
  const text = `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
  return verb ? `${text} ${number === 1 ? verb.one : verb.many}` : text;
}
