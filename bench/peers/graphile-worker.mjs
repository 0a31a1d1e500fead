// graphile-worker, set by its documentation at https://worker.graphile.org/docs (library/run,
// library/add-job, performance).
import { EventEmitter } from 'node:events';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';

// The best of the values tried here: see README.md.
const CONCURRENCY = 24;
const LOCAL_QUEUE = 500;
const PRODUCER_POOL = 64;

export const settings =
  `\`concurrentJobs\` ${CONCURRENCY}, \`maxPoolSize\` ${CONCURRENCY + 1} (${PRODUCER_POOL} for producers); in batches: \`localQueue.size\` ${LOCAL_QUEUE} and ` +
  '`completeJobBatchDelay` 0, as on its page on performance; `addJobs([])`; wake-up: without local queue';

// A log line for each job would be its greatest cost.
const logger = new Logger(() => () => undefined);

export async function open({ url, data }) {
  const presetOf = (worker) => ({
    worker: {
      connectionString: url,
      logger,
      concurrentJobs: CONCURRENCY,
      // `maxPoolSize`: "we recommend setting it to 10 or concurrentJobs + 2, whichever is larger"; its own
      // benchmark uses + 1.
      maxPoolSize: CONCURRENCY + 1,
      ...worker,
    },
  });
  const utils = await makeWorkerUtils({ preset: presetOf({ maxPoolSize: PRODUCER_POOL }) });
  await utils.migrate();
  const work = async (worker, bench) => {
    const events = new EventEmitter();
    const runner = await run({
      preset: presetOf({ ...worker, events }),
      noHandleSignals: true,
      taskList: { bench },
    });
    return { runner, events };
  };

  return {
    producers: { 1: 64, 100: 8, 1000: 8 },
    add: () => utils.addJob('bench', data),
    // `addJobs`: many jobs in one statement.
    addMany: (count) => utils.addJobs(Array(count).fill({ identifier: 'bench', payload: data })),

    // `localQueue`: "lock and pull down a batch of jobs"; `completeJobBatchDelay`: completions go together.
    // Without them, each job is fetched and completed by statements of its own.
    drain: (size) => async (done) => {
      const batching =
        size === 1
          ? {}
          : { localQueue: { size: LOCAL_QUEUE }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
      const { runner, events } = await work(batching, () => undefined);
      events.on('job:complete', () => done(1));
      return () => runner.stop();
    },

    async waker(started) {
      const { runner } = await work({}, () => started());
      return { add: () => utils.addJob('bench', data), stop: () => runner.stop() };
    },

    close: () => utils.release(),
  };
}
