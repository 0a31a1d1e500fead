// The ways of popping a row that need only PostgreSQL. Each worker has a connection.
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { atEnd } from '../lib/cleanup.mjs';

const textOf = (name) => readFileSync(new URL(`./${name}.sql`, import.meta.url), 'utf8');

/** A connection that runs the statements of this folder by name, prepared. */
async function connect(url) {
  const client = new pg.Client(url);
  // The server ends first when the benchmark is interrupted.
  client.on('error', () => undefined);
  await client.connect();
  const texts = new Map();
  return {
    async run(name, ...values) {
      if (!texts.has(name)) texts.set(name, textOf(name));
      return (await client.query({ name, text: texts.get(name), values })).rows;
    },
    close: () => client.end(),
  };
}

const alone = (popping) => (run) => ({
  pop: () => run(popping),
  done: ([{ id }]) => run('delete', id),
});

const inTransaction = (popping, deleting) => (run) => ({
  async pop() {
    await run('begin');
    const jobs = await run(popping);
    if (jobs.length === 0) await run('commit');
    return jobs;
  },
  async done([{ id }]) {
    if (deleting) await run(deleting, id);
    await run('commit');
  },
});

const manyAlone = (popping) => (run) => ({
  pop: () => run(popping),
  done: (jobs) => {
    const ids = jobs.map(({ id }) => id);
    return run('delete_100', ids);
  },
});

const SINGLE = {
  'SELECT, then DELETE': alone('select'),
  'SELECT FOR UPDATE': inTransaction('for_update', 'delete'),
  'hold column, committed': alone('hold'),
  'UPDATE of min(id), retried': alone('min_id'),
  'advisory lock, inner LIMIT': inTransaction('advisory', 'delete'),
  'DELETE SKIP LOCKED': inTransaction('delete_skip_locked'),
  'leased by UPDATE SKIP LOCKED': alone('lease'),
};
const BATCHED = { 'leased, 100 at a time': manyAlone('lease_100') };

/** The ways in SQL, one job at a time and in batches, all on one table in a database of its own. */
export async function sqlWays(url) {
  const owner = await connect(url);
  atEnd(owner.close);
  await owner.run('table');
  const waysOf = (methods) =>
    Object.entries(methods).map(([name, methodsOf]) => ({
      name,
      url,
      async fill(payloads) {
        await owner.run('truncate');
        await owner.run('fill', payloads);
      },
      left: async () => (await owner.run('left'))[0].count,
      async worker() {
        const { run, close } = await connect(url);
        return { ...methodsOf(run), close };
      },
    }));
  return { single: waysOf(SINGLE), batched: waysOf(BATCHED) };
}
