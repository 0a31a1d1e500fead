import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Driver, startDriver } from './driver.ts';
import { type Lack, PROMISES, type Promised } from './promises.ts';
import './promises/working.ts';
import './promises/leases.ts';
import './promises/faults.ts';
import './promises/passing.ts';
import './promises/settings.ts';
import './promises/keys.ts';
import './promises/ending.ts';
import './promises/stopping.ts';
import './promises/producing.ts';
import './promises/batches.ts';
import './promises/telling.ts';
import './promises/sessions.ts';
import { openStage, type Stage, startService } from './stage.ts';

export interface Library {
  name: string;
  /** How to run its driver, from the root of the repository. */
  command: [string, ...string[]];
  env?: Record<string, string>;
  /** What it has not, so that promises about it do not apply. */
  lacks?: Lack[];
}

/** With CONFORMANCE_RESULTS, a line for each promise that was played: the table of docs/conformance.md is made of them. */
function note(library: string, promise: string, verdict: 'kept' | 'broken' | 'not applicable'): void {
  const file = process.env.CONFORMANCE_RESULTS;
  if (file) appendFileSync(file, `${JSON.stringify({ library, promise, verdict })}\n`);
}

/** Plays every promise against a library. */
export function play({ name, command, env, lacks = [] }: Library): void {
  const isLong = process.env.CONFORMANCE_SLOW === '1';
  const applies = (needs: Lack[]) => !needs.some((need) => lacks.includes(need));
  const due = PROMISES.filter((one) => applies(one.needs) && (isLong || !one.isSlow));

  describe(name, () => {
    let service: Awaited<ReturnType<typeof startService>>;
    let url: string;
    let driver: Driver;
    const open = () => startDriver(command, env);
    beforeAll(async () => {
      service = await startService();
      url = await service.listen();
      driver = open();
      for (const one of PROMISES) if (!applies(one.needs)) note(name, one.name, 'not applicable');
    });
    afterAll(async () => {
      await driver.end();
      await service.stop();
    });

    test('the suite has at least 60 promises', () => {
      expect(PROMISES.length).toBeGreaterThanOrEqual(60);
    });

    describe.concurrent('keeps its promises', () => {
      /** Plays it once. */
      async function attempt({ name: promise, play: act }: Promised, pace: number): Promise<void> {
        let stage: Stage | undefined;
        try {
          stage = await openStage(service, url, { driver, open }, pace);
          await act(stage);
        } catch (error) {
          throw new Error(`${promise}: ${(error as Error).message}\n${stage?.story() ?? ''}`, {
            cause: error,
          });
        } finally {
          await stage?.close();
        }
      }

      test.each(due.map((one) => [one.name, one] as const))('%s', async (_, one) => {
        try {
          await attempt(one, 1).catch((error) => {
            if (!one.isTimed) throw error;
            return attempt(one, 6);
          });
          note(name, one.name, 'kept');
        } catch (error) {
          note(name, one.name, 'broken');
          throw error;
        }
      });
    });
  });
}
