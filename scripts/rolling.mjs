// A rolling restart, and a rolling upgrade over the newest migration, under load: HAProxy, three replicas, PgBouncer.
//   npm run rolling -- [--seconds 20] [--drain 3] [--from <commit, or "none">]
// It needs haproxy, and pgbouncer 1.21 or newer. HAPROXY and PGBOUNCER name other programs than those in the PATH.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { atEnd, cleanUp, guard } from '../bench/lib/cleanup.mjs';
import { startFleet } from './rolling/fleet.mjs';
import { summaryOf, tableOf } from './rolling/ledger.mjs';
import { startLoad } from './rolling/load.mjs';
import { buildAt, commitBeforeNewestMigration } from './rolling/oldBuild.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '6' },
    drain: { type: 'string', default: '3' },
    from: { type: 'string', default: '' },
  },
});

guard(900);
try {
  const calmMs = Number(values.seconds) * 1000;
  const commit = values.from || commitBeforeNewestMigration();
  const old = buildAt(commit);
  const fleet = await startFleet({ folder: old.folder, drainSeconds: Number(values.drain) });
  console.log(`three replicas of ${old.name} behind HAProxy, on PostgreSQL behind PgBouncer`);
  const load = startLoad(fleet.url);
  atEnd(load.stop);
  await sleep(calmMs);

  const rounds = [
    ['rolling restart of the old version', old.folder],
    ['rolling upgrade, over the newest migration', '.'],
    ['rolling restart of the new version', '.'],
  ];
  const parts = [];
  for (const [what, folder] of rounds) {
    const before = load.counts();
    const began = performance.now();
    for (let i = 0; i < 3; i++) await fleet.replace(i, folder);
    await sleep(calmMs);
    parts.push({ what, seconds: (performance.now() - began) / 1000, before, after: load.counts() });
    console.log(`${what}: done`);
  }
  const ledger = await load.finish();
  console.log(tableOf(parts));
  const { lines, isGood } = summaryOf(ledger);
  for (const line of lines) console.log(line);
  process.exitCode = isGood ? 0 : 1;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
await cleanUp();
process.exit();
