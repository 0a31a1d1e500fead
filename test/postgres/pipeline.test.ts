import { expect, test } from 'vitest';
import { callOf, Pipeline } from '../../src/postgres/pipeline.ts';
import { prepared } from '../../src/postgres/statements.ts';

test('an error behind the last statement refuses the call, as when the connection is cut before its commit', () => {
  const outcomes: unknown[] = [];
  const pipeline = new Pipeline([callOf(prepared('postgres/now'), {})], () => String);
  pipeline.callback = (error) => outcomes.push(error);
  // The settings, and the statement.
  pipeline.handleCommandComplete();
  pipeline.handleCommandComplete();
  pipeline.handleError('cut');
  expect(outcomes).toEqual(['cut']);
});
