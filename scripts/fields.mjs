// Writes what follows from the fields of a job (src/jobFields.ts): fragments of sql/shared/, types, and the code of hot paths
// that handles each field. With --check, it only fails if one is stale.

import { writeCurrent } from './current.mjs';
import { list } from './list.mjs';
import { importSource } from './source.mjs';

const { COLUMNS, NEW_JOB, KEPT_JOB, CHANGED, columnNames, columnOf, nameOf } =
  await importSource('src/jobFields.ts');
const { jobProperties } = await importSource('routes/schemas/job.ts');

const GENERATED = 'Generated from src/jobFields.ts by "npm run generate".';

const isJson = ({ type }) => type === 'json';
/** The type of a value that goes in: JSON goes as a text. */
const sentType = (field) => (isJson(field) ? 'text' : field.type);

const always = columnNames.filter((name) => columnOf(name).isAlwaysRead);
const moved = columnNames.filter((name) => !columnOf(name).isMapped && !columnOf(name).stays);
const attributes = Object.entries(NEW_JOB);
const asSent = attributes.filter(([, { isColumn }]) => isColumn);

/** The first answer to an enqueue has no payload, and tells nothing of duplicates. */
function keptValue(name) {
  if (name === 'queue') return ':queue::text';
  const column = columnNames.find((column) => nameOf(column) === name);
  if (column === undefined || name === 'payload') return 'null';
  return isJson(COLUMNS[column]) ? `j.${column}::text` : `j.${column}`;
}

/** An export of an older Dibs does not have each column. */
function importedValue(name) {
  const { before } = COLUMNS[name];
  if (before) return `coalesce(${name}, ${before})`;
  return isJson(COLUMNS[name]) ? `${name}::json` : name;
}

const FRAGMENTS = {
  job_columns: [
    'The columns of a job `j` that every answer shows. Each statement adds the others that its answer shows.',
    list(always.map((name) => (COLUMNS[name].as ? `j.${name} as "${COLUMNS[name].as}"` : `j.${name}`))),
  ],
  new_jobs: [
    'The jobs to insert, a row for each. The array of a column that no job has may be null: unnest fills it up.',
    `unnest(
  ${list(attributes.map(([, field]) => `:${field.many}::${sentType(field)}[]`)).replaceAll('\n', '\n  ')}
) as new (
  ${list(attributes.map(([name]) => name)).replaceAll('\n', '\n  ')}
)`,
  ],
  new_job: [
    'The one job to insert, as a row. The array of a column that it does not have may be null.',
    `(
  select
    ${attributes.map(([name, field]) => `(:${field.many}::${sentType(field)}[])[1] as ${name}`).join(',\n    ')}
) as new`,
  ],
  new_job_columns: ['The columns that a new job takes as they are sent.', list(asSent.map(([name]) => name))],
  new_job_values: [
    'What goes into the columns of new_job_columns.sql, of a job `new`.',
    list(asSent.map(([name, field]) => `new.${name}${isJson(field) ? '::json' : ''}`)),
  ],
  kept_values: [
    'What an idempotency key keeps of a job `j` of the queue :queue that is inserted: the attributes of dibs.kept_job.',
    list(KEPT_JOB.map(keptValue)),
  ],
  changed_columns: [
    'The columns of a job `j` that a change sets as they are sent. What is null stays as it is.',
    CHANGED.map(
      (name) => `${name} = coalesce(:${COLUMNS[name].as ?? name}::${COLUMNS[name].type}, j.${name})`,
    ).join(',\n'),
  ],
  exported_columns: [
    'The columns of a job as an export has them. JSON goes as a text.',
    list(moved.map((name) => (isJson(COLUMNS[name]) ? `${name}::text as ${name}` : name))),
  ],
  line_columns: [
    'The columns of exported_columns.sql and their types, as they stand in a line.',
    list(moved.map((name) => `${name} ${sentType(COLUMNS[name])}`)),
  ],
  imported_columns: ['The columns of exported_columns.sql, as an import inserts them.', list(moved)],
  imported_values: ['What goes into the columns of imported_columns.sql.', list(moved.map(importedValue))],
  relocated_columns: [
    'The columns of a job that a relocation copies: all but the position, which is anew where the jobs arrive.',
    list(columnNames.filter((name) => name !== 'position')),
  ],
};

for (const [name, [says, text]] of Object.entries(FRAGMENTS))
  writeCurrent(`sql/shared/${name}.sql`, `-- ${says}\n-- ${GENERATED}\n${text}\n`);

const NUMBERS = ['smallint', 'integer', 'bigint', 'double precision'];
const isNumber = ({ type }) => NUMBERS.includes(type);
/** The type of a value as requests have it, and as statements take and return it. */
const askedType = (field) => (isNumber(field) ? 'number' : isJson(field) ? 'object' : 'string');
const valueType = (field) => (isNumber(field) ? 'number' : 'string');
const orNull = (field, isNullable) => `${valueType(field)}${isNullable ? ' | null' : ''}`;
const named = (name) => (name in COLUMNS ? nameOf(name) : name);

const block = (head, lines, end) => `${head} {\n${lines.map((line) => `  ${line}\n`).join('')}${end}\n`;
const shape = (says, name, lines) => `/** ${says} */\n${block(`export interface ${name}`, lines, '}')}`;
const rare = attributes.filter(([, { isRare }]) => isRare);

writeCurrent(
  'src/jobShapes.ts',
  [
    `// ${GENERATED}\n`,
    shape(
      'What all statements that answer jobs return.',
      'AlwaysRead',
      always.map((name) => `${named(name)}: ${orNull(COLUMNS[name], COLUMNS[name].isOptional)};`),
    ),
    shape(
      'What few requests say of a new job.',
      'AskedRare',
      rare.map(([name, field]) => `${named(name)}?: ${askedType(field)};`),
    ),
    shape(
      'The same, as it goes into the database.',
      'RareFields',
      rare.map(([name, field]) => `${named(name)}: ${orNull(field, true)};`),
    ),
    shape(
      'What a change sets as it is sent.',
      'AskedChange',
      CHANGED.map((name) => `${named(name)}?: ${askedType(COLUMNS[name])};`),
    ),
    shape(
      'The same, as it goes into the database.',
      'ChangedParameters',
      CHANGED.map((name) => `${named(name)}: ${orNull(COLUMNS[name], true)};`),
    ),
  ].join('\n'),
);

const sent = (name, field) =>
  isJson(field) ? `job.${name} === undefined ? null : JSON.stringify(job.${name})` : `job.${name} ?? null`;
const ifAny = (name, field) =>
  `${field.many}: ${isNumber(field) ? 'ifAny' : 'textsIfAny'}(jobs, (job) => job.${name}),`;

writeCurrent(
  'src/enqueue/rareFields.ts',
  [
    `// ${GENERATED}\n\nimport type { AskedRare, RareFields } from '../jobShapes.ts';\nimport { ifAny, textsIfAny } from './ifAny.ts';\n`,
    block(
      'export const rareOf = (job: AskedRare): RareFields => (',
      rare.map(([name, field]) => `${named(name)}: ${sent(named(name), field)},`),
      '});',
    ).replace('( {', '({'),
    block(
      'export const rareParameters = (jobs: RareFields[]) => (',
      rare.map(([name, field]) => ifAny(named(name), field)),
      '});',
    ).replace('( {', '({'),
    `/** Those that answers show. */\n${block(
      'export const shownRare = (job: RareFields) => (',
      rare
        .filter(([name]) => name in COLUMNS && COLUMNS[name].isAlwaysRead)
        .map(([name]) => `${named(name)}: job.${named(name)},`),
      '});',
    ).replace('( {', '({')}`,
  ].join('\n'),
);

const typeOf = new Map(
  columnNames.map((name) => [nameOf(name), name === 'queue_id' ? 'uuid' : COLUMNS[name].type]),
);
/** How a value of this name is written. Ids, times and names of queues need no escaping. JSON is a text already. */
function written(name) {
  const type = typeOf.get(name);
  const { isOptional } = columnOf(columnNames.find((column) => nameOf(column) === name));
  if (isNumber({ type }) || isJson({ type })) return `\${job.${name}}`;
  if (type === 'text') return `\${text(job.${name})}`;
  return isOptional ? `\${plain(job.${name})}` : `"\${job.${name}}"`;
}
/** What stands behind a field, where a job has it. */
const BEHIND = new Map([
  ['state', 'payload'],
  ['lease_expires_at', 'lease'],
]);

writeCurrent(
  'routes/http/json/jobFieldsJson.ts',
  `// ${GENERATED}

import type { Job } from '../../../src/job.ts';
import { plain, text } from './texts.ts';

/** The fields of a job, in the order of its schema. \`payload\` and \`lease\` are texts of members that not all jobs have. */
export const jobFieldsJson = (job: Job, payload: string, lease: string): string =>
${Object.keys(jobProperties)
  .map(
    (name, i) =>
      `  \`${i === 0 ? '' : ','}"${name}":${written(name)}${BEHIND.has(name) ? `\${${BEHIND.get(name)}}` : ''}\``,
  )
  .join(' +\n')};
`,
);
