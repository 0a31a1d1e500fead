import { MOST_QUEUE_NUMBERS } from '../ids.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import type { Patient } from './patient.ts';

const numbers = planned('queues/numbers', row<{ last: number; reusable: number }>());

const SCARCE = 0.8;
const NEARLY_GONE = 0.98;
const grouped = (count: number) => count.toLocaleString('en');

/** Whether new queues will get numbers for long. */
export async function checkQueueNumbers({ client }: Patient): Promise<Finding[]> {
  const [found] = await rowsOf(client, numbers);
  const { last, reusable } = found as { last: number; reusable: number };
  const used = last - reusable;
  const said = `${grouped(used)} of ${grouped(MOST_QUEUE_NUMBERS)} numbers of queues are in use, or were until lately.`;
  const share = used / MOST_QUEUE_NUMBERS;
  if (share < SCARCE) return [ok('queue_numbers', said)];
  return [
    (share < NEARLY_GONE ? warning : problem)(
      'queue_numbers',
      said,
      'Without a number there can be no new queue: 409 too_many_queues.',
      'Find out who creates so many queues (GET /queues). Delete those that nobody needs: a number can be used again after 31 days. Lower RATE_LIMIT_NEW_QUEUES_PER_SECOND.',
    ),
  ];
}
