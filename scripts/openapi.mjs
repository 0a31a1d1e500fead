// Writes openapi/openapi.json, the same as OpenAPI 3.0, and the JSON Schema of queues files (that is in the schema of the chart's values,
// too), from the routes built in dist/.
// With --check, it only fails if that is stale.

import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { openApiDocument } from '../dist/routes/app.js';
import { toOpenApi30 } from '../dist/routes/http/openapi/openapi30.js';
import { queuesFileSchema } from '../dist/routes/http/openapi/queuesFileSchema.js';
import { writeCurrent } from './current.mjs';

const document = await openApiDocument(pino({ level: 'silent' }));
writeCurrent('openapi/openapi.json', `${JSON.stringify(document, null, 2)}\n`);
writeCurrent('openapi/openapi-3.0.json', `${JSON.stringify(toOpenApi30(document), null, 2)}\n`);
const { $schema: _, definitions, ...queues } = queuesFileSchema();
writeCurrent('openapi/queues.schema.json', `${JSON.stringify(queuesFileSchema(), null, 2)}\n`);

/** The value `queues` of the chart is a queues file that Helm has read. The other values are described by hand. */
const VALUES = 'deploy/helm/values.schema.json';
queues.properties.schedules.additionalProperties.properties.job.properties.payload.description =
  'Any JSON value. Helm writes it anew: its members in another order, and its numbers as floats. 9007199254740993 becomes ' +
  '9007199254740992, and 1.0 becomes 1. Where that matters, make the number a string, or use `dibs apply`. Default: null.';
const values = JSON.parse(readFileSync(VALUES, 'utf8'));
Object.assign(values, { properties: { ...values.properties, queues }, definitions });
writeCurrent(VALUES, `${JSON.stringify(values, null, 2)}\n`);
