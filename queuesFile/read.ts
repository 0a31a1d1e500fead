import type { ErrorObject } from 'ajv';
import { pointer } from '../routes/http/answers/refusalOf.ts';
import { ruleInWords } from '../routes/http/answers/ruleInWords.ts';
import { toNewJob } from '../routes/http/json/jobBody.ts';
import { buildValidator } from '../routes/http/json/validation.ts';
import { namedSchemas } from '../routes/schemas/named.ts';
import {
  FileKey,
  FileQueue,
  FileSchedule,
  type KeyInFile,
  type QueueInFile,
  QueuesFileFrame,
  type ScheduleInFile,
} from '../routes/schemas/queuesFile.ts';
import { DEFAULT_TIMEZONE } from '../routes/schemas/schedule.ts';
import { Refusal } from '../src/errors.ts';
import { firstTick } from '../src/schedules/schedules.ts';
import { circlesOf } from './deadLetters.ts';
import { FileError, type Problem } from './problem.ts';
import { readYaml, type Yaml } from './yaml.ts';

/** What each section has. */
interface Entries {
  queues: QueueInFile;
  schedules: ScheduleInFile;
  keys: KeyInFile;
}
type Section = keyof Entries;

/** How queues, schedules and keys should be, by their names. A section that the file does not have is undefined. */
export type Wish = { [S in Section]?: Map<string, Entries[S]> };

/** A queues file. The payloads of its schedules are JSON texts. */
export interface QueuesFile {
  wish: Wish;
  /** The problem of an entry, or of a field in it, for what only Dibs can say of it. */
  problem(section: Section, path: string[], message: string): Problem;
}

type Validate = ((value: unknown) => boolean) & { errors?: ErrorObject[] | null };
type ValidatorOf = (part: { schema: object; httpPart: string }) => Validate;

/** The validators of a file. They are compiled when the first file is read. */
function createValidators() {
  const build = buildValidator as unknown as (schemas: Record<string, object>) => ValidatorOf;
  const validator = build(Object.fromEntries(namedSchemas.map((schema) => [schema.$id, schema])));
  const of = (schema: object) => validator({ schema, httpPart: 'body' });
  return {
    frame: of(QueuesFileFrame),
    queues: of(FileQueue),
    schedules: of(FileSchedule),
    keys: of(FileKey),
  };
}
let compiled: ReturnType<typeof createValidators> | undefined;

const partsOf = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The first thing that is wrong with a value. */
function wrongWith(validate: Validate, value: unknown): { path: string[]; message: string } | undefined {
  if (validate(value)) return undefined;
  const error = validate.errors?.find(({ keyword }) => keyword !== 'propertyNames') as ErrorObject;
  return { path: partsOf(pointer(error as never)), message: ruleInWords(error) };
}

/** What the schema of a schedule cannot say. */
function wrongWithSchedule({ cron, timezone = DEFAULT_TIMEZONE, paused = false, job }: ScheduleInFile) {
  try {
    firstTick({ cron, timezone, paused, job: toNewJob(job as never) }, new Date());
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const [{ path, message }] = error.errors as [{ path: string; message: string }];
    return { path: partsOf(path), message };
  }
}

/** Each circle is a problem of one of its queues. */
const circles = (queues: Map<string, QueueInFile>, { problem }: Yaml): Problem[] =>
  circlesOf(queues.keys(), (name) => queues.get(name)?.dead_letter_queue).map(([first = '', ...others]) =>
    problem(
      ['queues', first, 'dead_letter_queue'],
      `must not lead back to this queue: ${[first, ...others, first].join(' → ')}`,
    ),
  );

const isPayload = (path: readonly string[]) =>
  path.length === 4 && path[0] === 'schedules' && path[2] === 'job' && path[3] === 'payload';

const SECTIONS: Section[] = ['queues', 'schedules', 'keys'];

/** @throws FileError that names each entry with a problem */
function checkedWish(yaml: Yaml): Wish {
  const { value, problem } = yaml;
  compiled ??= createValidators();
  const wrong = wrongWith(compiled.frame, value);
  if (wrong) throw new FileError([problem(wrong.path, wrong.message)]);
  const problems: Problem[] = [];
  const wish: Record<string, Map<string, unknown>> = {};
  for (const section of SECTIONS) {
    const entries = (value as Record<Section, object | undefined>)[section];
    if (!entries) continue;
    wish[section] = new Map(Object.entries(entries));
    for (const [name, entry] of Object.entries(entries)) {
      const wrong =
        wrongWith(compiled[section], entry) ??
        (section === 'schedules' ? wrongWithSchedule(entry as ScheduleInFile) : undefined);
      if (wrong) problems.push(problem([section, name, ...wrong.path], wrong.message));
    }
  }
  const checked = wish as Wish;
  if (problems.length === 0 && checked.queues) problems.push(...circles(checked.queues, yaml));
  if (problems.length > 0) throw new FileError(problems);
  return checked;
}

/** @throws FileError */
export function readQueuesFile(bytes: Uint8Array): QueuesFile {
  const yaml = readYaml(bytes, isPayload);
  return {
    wish: checkedWish(yaml),
    problem: (section, path, message) => yaml.problem([section, ...path], message),
  };
}
