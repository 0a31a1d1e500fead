import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './sources.ts';

/** Those that take longest, as measured. An order that is a little wrong costs nothing. */
const LONGEST = [
  'clients/conformance/typescript',
  'test/web/dashboard',
  'test/service/tls',
  'test/service/upgrade',
  'test/mixed/mixed',
  'test/maintenance/sweeper',
  'test/docs/examples',
  'test/access/commands',
  'test/transfer/transfer',
  'test/embedded/embedded',
  'test/replicas/replicas',
  'test/enqueue/idempotencyCrash',
  'test/claim/front',
  'test/schedules/scheduleReplicas',
  'test/service/outage',
  'test/service/shutdown',
  'test/service/crash',
  'test/claim/waitLine',
  'test/access/matrix',
  'test/docs/kubernetes',
  'test/settle/followUpsCrash',
  'test/claim/limitsReplicas',
].map((name) => `${name}.test.ts`);

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
