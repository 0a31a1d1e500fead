// How long a 401 takes for an unknown id, and for a wrong secret of a known key. A stranger should see no difference.
import { newKey, newKeyId } from '../dist/src/access/keyFormat.js';
import { benchmark } from './lib/bench.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';

const quantile = (values, q) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * q)];

await benchmark(
  {
    name: 'keyTiming',
    title: 'A 401 for an unknown id against one for a wrong secret',
    full: { requests: 4000, keys: 100 },
    short: { requests: 400 },
    maxSeconds: 1800,
  },
  async ({ options: { requests, keys }, postgres, report }) => {
    const { url } = await startReplica(await postgres.database('dibs_timing'));
    let admin;
    const ids = [];
    for (let i = 0; i < keys; i++) {
      const response = await fetch(`${url}/keys`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(admin ? { authorization: `Bearer ${admin}` } : {}),
        },
        body: JSON.stringify({ name: `key ${i}`, scopes: ['admin'] }),
      });
      const { id, key } = await response.json();
      admin ??= key;
      ids.push(id);
    }
    const kinds = {
      'unknown id': () => newKey(newKeyId()),
      'wrong secret': (i) => newKey(ids[i % ids.length]),
    };
    const times = { 'unknown id': [], 'wrong secret': [] };
    for (let i = 0; i < requests; i++) {
      const order = Object.keys(kinds);
      for (const kind of Math.random() < 0.5 ? order : order.reverse()) {
        const headers = { authorization: `Bearer ${kinds[kind](i)}` };
        const started = performance.now();
        const response = await fetch(`${url}/queues`, { headers });
        await response.text();
        if (response.status !== 401) throw new Error(`${response.status}`);
        times[kind].push(performance.now() - started);
      }
    }
    const row = (kind) => [kind, ...[0.1, 0.5, 0.9].map((q) => quantile(times[kind], q))];
    report.table('Milliseconds of a request:', ['', '10 %', 'median', '90 %'], Object.keys(times).map(row));
    report.line({
      number: 20,
      what: 'median time of a 401 for a wrong secret',
      against: 'an unknown id',
      value: median(times['wrong secret']) / median(times['unknown id']),
    });
  },
);
