import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './sources.ts';

/** Those that take longest, as measured. An order that is a little wrong costs nothing. */
const LONGEST = [
  'test/service/upgrade',
  'test/service/lockWaits',
  'test/access/matrix',
  'test/web/dashboard',
  'test/postgres/sessionDefaults',
  'test/sessions/sessionReplicas',
  'test/claim/step',
  'test/service/failover',
  'test/embedded/embedded',
  'test/http/breakingOff',
  'test/postgres/plans',
  'test/access/commands',
  'test/web/batches',
  'test/service/outage',
  'test/relay/killed',
  'clients/conformance/typescript',
  'test/docs/examples',
  'test/commands/demo',
  'test/mixed/mixed',
  'test/transfer/transfer',
  'test/access/keys',
  'test/service/crash',
  'test/databases/sessions',
  'test/maintenance/sweeper',
  'test/service/tls',
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
