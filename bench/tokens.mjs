// #21: what it costs to know who asks, to count the requests, and to let pages read the answers, against a Dibs without.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { benchmark } from './lib/bench.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { cpuSecondsOf } from './lib/cpu.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { workDir } from './lib/machine.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'cycle';
const ISSUER = 'https://issuer.test';
const PLAIN = 'no key';
/** The cycle may be this much slower with tokens. */
const AT_LEAST = 0.95;

/** An issuer with its key set in a file, and a token of the size that Kubernetes issues. */
async function createIssuer() {
  const folder = await mkdtemp(join(workDir(), 'dibs-tokens-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwks = join(folder, 'jwks.json');
  await writeFile(
    jwks,
    JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: '1', alg: 'RS256' }] }),
  );
  const token = await new SignJWT({
    scope: 'dibs:produce dibs:consume',
    dibs_queues: ['*'],
    'kubernetes.io': { namespace: 'shop', pod: { name: 'web-7d8b49557c-6jhsf', uid: '7f0c6c1e'.repeat(4) } },
  })
    .setProtectedHeader({ alg: 'RS256', kid: '1' })
    .setIssuer(ISSUER)
    .setAudience('dibs')
    .setSubject('system:serviceaccount:shop:web')
    .setIssuedAt()
    .setExpirationTime('12h')
    .sign(privateKey);
  return { settings: { JWT_ISSUER: ISSUER, JWT_AUDIENCE: 'dibs', JWT_JWKS: jwks }, token };
}

await benchmark(
  {
    name: 'tokens',
    title: 'What tokens, rate limits and CORS cost',
    full: { rounds: 7, seconds: 8, connections: [64, 256] },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const { settings, token } = await createIssuer();
    const key = token;
    const kinds = [
      { name: PLAIN, env: {} },
      { name: 'JWT', env: settings, key },
      {
        name: 'JWT and a rate limit',
        env: { ...settings, RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
        key,
      },
      { name: 'no key, CORS', env: { ALLOWED_ORIGINS: 'https://app.example' } },
    ];
    const sides = [];
    for (const [i, kind] of kinds.entries()) {
      const url = await postgres.database(`dibs_tokens_${i}`);
      const filler = await startReplica(url);
      await fill(filler.url, READY, jobText(QUEUE));
      await filler.stop();
      sides.push({ ...kind, url, replica: await startReplica(url, kind.env) });
    }

    async function run({ replica, key }, count, time) {
      const before = cpuSecondsOf(replica.pid);
      const result = await cycle(replica.url, QUEUE, jobText(QUEUE), {
        connections: count,
        seconds: time,
        key,
      });
      return { ...result, cpu: ((cpuSecondsOf(replica.pid) - before) * 1e6) / result.acked };
    }
    for (const side of sides) await run(side, connections[0], 2);

    for (const count of connections) {
      const found = new Map(sides.map(({ name }) => [name, { rates: [], cpu: [], ratio: [], cpuRatio: [] }]));
      for (let round = 0; round < rounds; round++) {
        const results = new Map();
        // Another side goes first in each round, so that a drift of the machine hits all alike.
        for (let i = 0; i < sides.length; i++) {
          const side = sides[(i + round) % sides.length];
          await settle(side.url);
          const result = await run(side, count, seconds);
          if (result.trouble) report.say(`${side.name}: ${result.trouble}`);
          results.set(side.name, result);
        }
        const plain = results.get(PLAIN);
        for (const [name, { cycles, cpu }] of results) {
          const of = found.get(name);
          of.rates.push(cycles);
          of.cpu.push(cpu);
          of.ratio.push(cycles / plain.cycles);
          of.cpuRatio.push(cpu / plain.cpu);
        }
      }
      report.table(
        `Medians of ${rounds} rounds at ${count} connections; the ratios are medians of those of the rounds:`,
        ['', 'cycles/s', `against ${PLAIN}`, 'CPU of the service per cycle, µs', `against ${PLAIN}`],
        [...found].map(([name, { rates, ratio, cpu, cpuRatio }]) => [
          name,
          ...[rates, ratio, cpu, cpuRatio].map(median),
        ]),
      );
      for (const [name, { rates, ratio }] of found)
        if (name !== PLAIN)
          report.line({
            number: 21,
            what: `cycles/s at ${count} connections, ${name}: ${Math.round(median(rates))}/s`,
            against: `${PLAIN}: ${Math.round(median(found.get(PLAIN).rates))}/s`,
            value: median(ratio),
            atLeast: AT_LEAST,
          });
    }
  },
);
