// Random strings, hashed in the order of their priority by 1, 2, 4 and 8 workers:
//   npm run example:strings -- [how many strings]
import { createHash } from 'node:crypto';
import { example, openService } from '../support/service.mjs';
import { deal, priorityOf, randomString } from './deal.mjs';

/** The places of strings in the queue's order: priority, then arrival. */
const dueOrder = (strings) =>
  strings
    .map((string, place) => ({ place, priority: priorityOf(string) }))
    .sort((a, b) => b.priority - a.priority || a.place - b.place)
    .map(({ place }) => place);

const md5 = (text) => createHash('md5').update(text).digest('hex');

/** Compares the jobs that the workers did with the strings. */
function judge(strings, workers) {
  const all = workers.flatMap((worker) => worker.done);
  const counts = workers.map((worker) => worker.done.length);
  return {
    eachOnce: all.length === strings.length && new Set(all.map(({ place }) => place)).size === strings.length,
    right: all.every(({ place, md5: sum }) => sum === md5(strings[place])),
    inOrder: workers[0].done.map(({ place }) => place).join() === dueOrder(strings).join(),
    least: Math.min(...counts),
    most: Math.max(...counts),
  };
}

const yes = (truth) => (truth ? 'yes' : 'NO');
const row = (...cells) => console.log(cells.map((cell) => String(cell).padStart(12)).join(''));

async function main([count = '10000'], unlessStopped) {
  const strings = Array.from({ length: Number(count) }, randomString);
  const priorities = strings.map(priorityOf);
  const service = await openService();
  let good = true;
  try {
    console.log(
      `${strings.length} strings, priorities ${Math.min(...priorities)} to ${Math.max(...priorities)}`,
    );
    row('workers', 'each once', 'MD5 right', 'in order', 'least', 'most', 'strings/s');
    for (const count of [1, 2, 4, 8]) {
      const { seconds, workers } = await deal(service.url, strings, count, unlessStopped);
      const { eachOnce, right, inOrder, least, most } = judge(strings, workers);
      const speed = Math.round(strings.length / seconds);
      row(count, yes(eachOnce), yes(right), count === 1 ? yes(inOrder) : '-', least, most, speed);
      good &&= eachOnce && right && (inOrder || count > 1) && least >= strings.length / count / 2;
    }
    return good;
  } finally {
    await service.close();
  }
}

await example(main);
