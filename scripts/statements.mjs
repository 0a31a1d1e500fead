// Writes src/postgres/statementTypes.ts, the types of all statements. With --check, it only fails if that is stale.

import { planned } from '../dist/src/postgres/statements.js';
import { writeCurrent } from './current.mjs';
import { withMigrated } from './migrated.mjs';
import { statementTypes } from './statementTypes.mjs';

await withMigrated(async (url) =>
  writeCurrent('src/postgres/statementTypes.ts', await statementTypes(url, planned)),
);
