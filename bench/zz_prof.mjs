import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { startReplica } from './lib/service.mjs';
import { cpuSecondsOf } from './lib/cpu.mjs';
import { cycle } from './lib/wrk.mjs';
await benchmark({ name: 'prof', title: 'p', full: { seconds: 8, c: 256, prof: 1 }, short: {}, maxSeconds: 600 }, async ({ options: { seconds, c, prof }, postgres }) => {
  const first = await postgres.database('p1');
  const f = await startReplica(first);
  const job = jobText('bench');
  await fill(f.url, READY, job);
  let admin;
  const create = async (fields) => {
    const r = await fetch(`${f.url}/keys`, { method: 'POST', headers: { 'content-type': 'application/json', ...(admin && { authorization: `Bearer ${admin}` }) }, body: JSON.stringify(fields) });
    return (await r.json()).key;
  };
  admin = await create({ name: 'admin', scopes: ['admin'] });
  const keys = { off: await create({ name: 'wide', scopes: ['produce', 'consume'] }), narrow: await create({ name: 'narrow', scopes: ['produce', 'consume'], queues: ['bench*'] }) };
  await f.stop();
  const dbs = { off: first, narrow: await postgres.database('p2', 'p1') };
  const out = {};
  const reps = {};
  for (const side of ['off', 'narrow']) {
    rmSync(`/tmp/prof_${side}`, { recursive: true, force: true });
    mkdirSync(`/tmp/prof_${side}`);
    reps[side] = await startReplica(dbs[side], { ...(side === 'off' && { AUTH: 'off' }), PROF_OUT: `/tmp/prof_${side}/p.json` }, undefined, prof ? new URL('./zz_probe.mjs', import.meta.url).href : undefined);
  }
  await Promise.all(['off', 'narrow'].map((s) => cycle(reps[s].url, 'bench', job, { connections: c, seconds: 4, key: keys[s] })));
  if (prof) for (const s of ['off', 'narrow']) process.kill(reps[s].pid, 'SIGUSR2');
  const before = Object.fromEntries(['off', 'narrow'].map((s) => [s, cpuSecondsOf(reps[s].pid)]));
  const res = await Promise.all(['off', 'narrow'].map((s) => cycle(reps[s].url, 'bench', job, { connections: c, seconds, key: keys[s] })));
  for (const [i, s] of ['off', 'narrow'].entries()) { out[s] = res[i].requests; console.log(s, res[i].cycles, 'us/request', ((cpuSecondsOf(reps[s].pid) - before[s]) * 1e6) / res[i].requests); }
  if (prof) { for (const s of ['off', 'narrow']) process.kill(reps[s].pid, 'SIGUSR2'); await new Promise((r) => setTimeout(r, 3000)); }
  for (const s of ['off', 'narrow']) await reps[s].stop();
  if (!prof) return;
  const selfs = {};
  for (const s of ['off', 'narrow']) {
    const file = readdirSync(`/tmp/prof_${s}`).map((n) => `/tmp/prof_${s}/${n}`).sort((a, b) => readFileSync(b).length - readFileSync(a).length)[0];
    const p = JSON.parse(readFileSync(file));
    const t = new Map();
    const byId = new Map(p.nodes.map((n) => [n.id, n]));
    for (let i = 0; i < p.samples.length; i++) {
      const n = byId.get(p.samples[i]).callFrame;
      const k = `${n.functionName} ${n.url.split('/').slice(-3).join('/')}:${n.lineNumber}`;
      t.set(k, (t.get(k) ?? 0) + p.timeDeltas[i]);
    }
    selfs[s] = t;
  }
  const total = (s) => out[s];
  const keysAll = new Set([...selfs.off.keys(), ...selfs.narrow.keys()]);
  const rows = [...keysAll].map((k) => [k, (selfs.off.get(k) ?? 0) / total('off'), (selfs.narrow.get(k) ?? 0) / total('narrow')]).map((r) => [...r, r[2] - r[1]]);
  rows.sort((a, b) => Math.abs(b[3]) - Math.abs(a[3]));
  for (const r of rows.slice(0, 45)) console.log(r[0], r[1].toFixed(2), r[2].toFixed(2), r[3].toFixed(2));
});
