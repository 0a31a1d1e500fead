// Writes src/postgres/statementTypes.ts, the types of all statements. With --check, it only fails if that is stale.

import { writeCurrent } from './current.mjs';
import { withMigrated } from './migrated.mjs';
import { importSource } from './source.mjs';
import { statementTypes } from './statementTypes.mjs';

const { planned } = await importSource('src/postgres/statements.ts');
await withMigrated(async (url) =>
  writeCurrent('src/postgres/statementTypes.ts', await statementTypes(url, planned)),
);
