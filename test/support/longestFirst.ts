import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './sources.ts';

/** Those that take longest, as measured. An order that is a little wrong costs nothing. */
const LONGEST = [
  'web/dashboard',
  'service/tls',
  'service/upgrade',
  'mixed/mixed',
  'maintenance/sweeper',
  'docs/examples',
  'access/commands',
  'transfer/transfer',
  'embedded/embedded',
  'replicas/replicas',
  'enqueue/idempotencyCrash',
  'claim/front',
  'schedules/scheduleReplicas',
  'service/outage',
  'service/shutdown',
  'service/crash',
  'claim/waitLine',
  'access/matrix',
  'docs/kubernetes',
  'settle/followUpsCrash',
  'claim/limitsReplicas',
].map((name) => `test/${name}.test.ts`);

/** Begins with the files that take longest, so that none of them runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.indexOf(relative(ROOT, moduleId));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
