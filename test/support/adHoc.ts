import type { Statement } from '../../src/postgres/statements.ts';

/** A statement of a test's own, without parameters, for a pool of the service. */
export const adHoc = <Row = unknown>(text: string): Statement<object, Row> => ({ text, parameters: [] });
