// Workers from none to many and back, by what KEDA would ask Prometheus: npm run example:scaling -- [how many jobs]
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasPrometheus, startPrometheus } from '../support/prometheus.mjs';
import { call, example, openService } from '../support/service.mjs';
import { replicasFor } from './scaler.mjs';

// @fastify/swagger brings this package along.
const { parse } = createRequire(import.meta.url)('yaml');
const { spec } = parse(readFileSync(new URL('../../deploy/keda/scaledobject.yaml', import.meta.url), 'utf8'));

const QUEUE = 'mail';
const WORK_MS = 200;
/** The file says 60 s. Nobody wants to wait that long for an example. */
const COOLDOWN_SECONDS = 3;

/** A worker, as a pod would run it. When it is told to stop, it finishes its job. */
function startWorker(url, done) {
  const stop = new AbortController();
  const ended = (async () => {
    while (!stop.signal.aborted) {
      const { jobs } = await call(url, 'POST', '/jobs/claim', { queues: [QUEUE], wait_seconds: 1 });
      for (const { id, lease_token } of jobs) {
        await sleep(WORK_MS);
        await call(url, 'POST', `/jobs/${id}/ack`, { lease_token });
        done.push(id);
      }
    }
  })();
  return {
    stop() {
      stop.abort();
      return ended;
    },
  };
}

async function main([count = '100'], unlessStopped) {
  if (!hasPrometheus)
    throw new Error('Please install Prometheus: the program "prometheus" must be in the PATH');
  const undo = [];
  try {
    const { url, close } = await openService({});
    undo.push(close);
    const prometheus = await startPrometheus({ targets: [new URL(url).host] });
    undo.push(prometheus.stop);

    const done = [];
    const workers = [];
    const stopping = [];
    undo.push(() => Promise.all([...stopping, ...workers.map((worker) => worker.stop())]));
    const scaled = { ...spec, cooldownPeriod: COOLDOWN_SECONDS };
    let most = 0;
    let activeAt = performance.now();

    /** One look of KEDA. False while Prometheus has no numbers yet. */
    async function scale() {
      const answers = await Promise.all(
        spec.triggers.map(({ metadata }) => prometheus.query(metadata.query)),
      );
      if (answers.some(([series]) => series === undefined)) return false;
      const [depth, age] = answers.map(([{ value }]) => value);
      if (depth > 0) activeAt = performance.now();
      const idleSeconds = (performance.now() - activeAt) / 1000;
      const before = workers.length;
      const wanted = replicasFor(scaled, [depth, age], { replicas: before, idleSeconds });
      while (workers.length < wanted) workers.push(startWorker(url, done));
      while (workers.length > wanted) stopping.push(workers.pop().stop());
      most = Math.max(most, wanted);
      if (wanted !== before)
        console.log(
          `workers: ${before} → ${wanted} (${depth} jobs, the oldest is ready for ${age.toFixed(0)} s)`,
        );
      return true;
    }

    const untilScaled = async (isReached) => {
      while (!((await scale()) && isReached())) await unlessStopped(sleep(500));
    };
    await untilScaled(() => true);
    console.log(`no jobs, ${workers.length} workers`);

    const jobs = Array.from({ length: Number(count) }, (_, i) => ({ queue: QUEUE, payload: { i } }));
    await call(url, 'POST', '/jobs/batch', { jobs });
    console.log(`${count} jobs enqueued`);
    await untilScaled(() => workers.length > 0);
    await untilScaled(() => done.length === jobs.length && workers.length === 0);
    await Promise.all(stopping);
    const isComplete = new Set(done).size === jobs.length;
    console.log(
      `${done.length} jobs done, each once: ${isComplete ? 'yes' : 'NO'}. Workers: 0 → ${most} → 0`,
    );
    return isComplete;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

await example(main);
