import { describe, expect, test } from 'vitest';
import { near } from '../../scripts/near.mjs';

const texts = {
  tests: new Map([
    ['test/claim/order.test.ts', "import { claim } from '../../src/claim/claim.ts';"],
    ['test/claim/lease.test.ts', ''],
    ['test/claim/plans.test.ts', "explain('claim/plain')"],
    ['test/service/version.test.ts', "call('GET', '/version')"],
    ['test/settle/ack.test.ts', "import '../support/service.ts';"],
  ]),
  sources: new Map([
    ['src/claim/claim.ts', ''],
    ['src/claim/lease.ts', "prepared('claim/plain')"],
    ['src/settle/verbs.ts', ''],
    ['routes/system.ts', "import { Version } from './schemas/health.ts'; url: '/version'"],
    ['routes/schemas/health.ts', ''],
  ]),
  sql: new Map([
    ['sql/claim/plain.sql', '-- include shared/claim_scan.sql'],
    ['sql/shared/claim_scan.sql', ''],
  ]),
};

describe('the tests near a change', () => {
  test.each([
    ['a test', ['test/settle/ack.test.ts'], ['test/settle/ack.test.ts']],
    ['a source that a test imports', ['src/claim/claim.ts'], ['test/claim/order.test.ts']],
    ['a source with a test of its name', ['src/claim/lease.ts'], ['test/claim/lease.test.ts']],
    ['a statement', ['sql/claim/plain.sql'], ['test/claim/lease.test.ts', 'test/claim/plans.test.ts']],
    ['a fragment', ['sql/shared/claim_scan.sql'], ['test/claim/lease.test.ts', 'test/claim/plans.test.ts']],
    ['a route that few tests call', ['routes/system.ts'], ['test/service/version.test.ts']],
    ['a schema', ['routes/schemas/health.ts'], ['test/service/version.test.ts']],
    ['a page', ['README.md'], []],
  ])('are found for %s', (_, changed, found) => {
    expect(near(changed, texts)).toEqual(found);
  });
});
