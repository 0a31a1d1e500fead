import { afterAll, beforeAll, test } from 'vitest';
import { SDKS } from './sdks.ts';
import { missing, startServiceForClients } from './support.ts';

const isAsked = ({ isQuick }: (typeof SDKS)[number]) => process.env.SDKS !== 'quick' || isQuick;
const rows = new Map<string, string>();

let service: Awaited<ReturnType<typeof startServiceForClients>>;
beforeAll(async () => {
  service = await startServiceForClients();
});
afterAll(async () => {
  await service.stop();
  console.log([...rows].map(([generator, state]) => `${generator}: ${state}`).join('\n'));
});

for (const sdk of SDKS.filter(isAsked)) {
  const { generator, needs, build } = sdk;
  const lacks = missing(needs).map((tool) => `no ${tool}`);
  const why = lacks.length > 0 ? ` (skipped: ${lacks.join(', ')} on this machine)` : '';
  rows.set(generator, why ? `not tried, ${lacks.join(', ')} on this machine` : 'not asked for');
  test.skipIf(why)(`the client of ${generator} goes through a whole cycle${why}`, async () => {
    rows.set(generator, 'FAILS');
    const began = performance.now();
    const { command, args = [], env } = await build();
    await service.goThrough(command, args, { env });
    rows.set(generator, `runs (${Math.round((performance.now() - began) / 1000)} s)`);
  });
}
