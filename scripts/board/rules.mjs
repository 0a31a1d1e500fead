/*
 * How somebody who reads the board tells what is wrong: for each fault, the panels to look at and what they must show.
 * `panel(title, legend)` gives the series of a panel whose legend begins with that text.
 */

const highest = (series) => Math.max(Number.NEGATIVE_INFINITY, ...series.map(({ value }) => value));

/** Queues for which `isSo` holds. `number(title, legend)` is the value of the queue in a panel, 0 if there is none. */
function queuesWhere(panel, isSo) {
  const queues = new Set(panel('Ready jobs').map(({ labels }) => labels.queue));
  queues.delete('(other)');
  return [...queues].some((queue) =>
    isSo(
      (title, legend = queue) =>
        panel(title, legend).find(({ labels }) => labels.queue === queue)?.value ?? 0,
      queue,
    ),
  );
}

const LIMITS = 'Share of max_ready and max_leased, and paused';
const waits = (number) => number('Ready jobs') > 0;

export const RULES = {
  'database away': (panel) => highest(panel('Database up (lowest)')) === 0,
  'database locked or slow': (panel) =>
    highest(panel('Database up (lowest)')) === 1 &&
    highest(panel('Refusals a second, by code', 'unavailable')) > 0,
  'a transaction that stays open': (panel) =>
    highest(panel('Oldest transaction')) > 15 &&
    !(highest(panel('Refusals a second, by code', 'unavailable')) > 0),
  'a replica killed': (panel) => highest(panel('Replicas up', 'up')) < highest(panel('Replicas up', 'known')),
  'event loop blocked': (panel) => highest(panel('Event-loop lag')) > 0.5,
  'memory overload': (panel) => highest(panel('Memory held, of its budget')) > 0.8,
  'workers gone': (panel) =>
    queuesWhere(
      panel,
      (number, queue) =>
        waits(number) &&
        number('Claimed a second') === 0 &&
        number(LIMITS, `${queue} is paused`) === 0 &&
        number(LIMITS, `${queue} max_leased`) < 1 &&
        number(LIMITS, `${queue} max_ready`) < 1,
    ),
  'workers too slow': (panel) =>
    queuesWhere(
      panel,
      (number, queue) =>
        number('Age of the oldest ready job') > 10 &&
        number('Done a second') > 0 &&
        number(LIMITS, `${queue} max_leased`) < 1,
    ),
  'workers fail': (panel) =>
    queuesWhere(
      panel,
      (number, queue) =>
        number('Failures a second', `${queue} nacked`) > 0 &&
        number('Failures a second', `${queue} dead`) === 0,
    ),
  'jobs die': (panel) =>
    queuesWhere(panel, (number, queue) => number('Failures a second', `${queue} dead`) > 0),
  'workers hang or die': (panel) =>
    queuesWhere(panel, (number, queue) => number('Failures a second', `${queue} rescued`) > 0),
  'queue paused': (panel) =>
    queuesWhere(panel, (number, queue) => waits(number) && number(LIMITS, `${queue} is paused`) === 1),
  'max_leased reached': (panel) =>
    queuesWhere(panel, (number, queue) => waits(number) && number(LIMITS, `${queue} max_leased`) >= 1),
  'queue full': (panel) => queuesWhere(panel, (number, queue) => number(LIMITS, `${queue} max_ready`) >= 1),
};
