// Writes what follows from the events that are counted (src/verbs/counting.ts): fragments of sql/shared/. With --check, it only
// fails if one is stale.

import { writeCurrent } from './current.mjs';
import { list } from './list.mjs';
import { importSource } from './source.mjs';

const { EVENTS } = await importSource('src/verbs/counting.ts');

const each = (write) => EVENTS.map(write).join(',\n');

const FRAGMENTS = {
  event_columns: ['The events that are counted, as columns of dibs.totals.', list(EVENTS)],
  event_arrays: [
    'An array for each column of event_columns.sql.',
    list(EVENTS.map((event) => `:${event}::bigint[]`)),
  ],
  totals_added: [
    'Adds the numbers of `added` to those of a row `t` of dibs.totals.',
    each((event) => `${event} = t.${event} + added.${event}`),
  ],
  totals_sums: [
    'The sums of the numbers of `n`, which may have no row.',
    each((event) => `coalesce(sum(n.${event}), 0)::bigint as ${event}`),
  ],
};

for (const [name, [says, text]] of Object.entries(FRAGMENTS))
  writeCurrent(
    `sql/shared/${name}.sql`,
    `-- ${says}\n-- Generated from src/verbs/counting.ts by "npm run generate".\n${text}\n`,
  );
