import type { FieldChange } from '../../queuesFile/fields.ts';
import { keyCommand } from '../../queuesFile/keyCommand.ts';
import type { Change, Plan } from '../../queuesFile/plan.ts';
import { counted } from '../counted.ts';
import { type Shown, shown, shownTogether } from '../shown.ts';
import { objectOf } from './jsonText.ts';
import type { Paint, Style } from './terminal.ts';

const SIGNS = { create: '+', change: '~', delete: '-' } as const;
type Action = keyof typeof SIGNS;
const STYLES: Record<Action, Style> = { create: 'green', change: 'yellow', delete: 'red' };

function fieldText({ path, before, after, isDefault }: FieldChange): [Action, string] {
  if (before === undefined) return ['create', `${path}: ${after}`];
  if (after === undefined) return ['delete', `${path}: ${before}`];
  return ['change', `${path}: ${before} -> ${after}${isDefault ? ' (default)' : ''}`];
}

/** A line for the entry, and one for each field that differs. */
function changeText({ kind, name, action, fields }: Change, paint: Paint): Shown {
  const head = paint(STYLES[action], shown`${SIGNS[action]} ${kind} ${JSON.stringify(name)}`);
  const lines = fields.map((field) => {
    const [what, text] = fieldText(field);
    return shown`    ${paint(STYLES[what], shown`${SIGNS[what]} ${text}`)}\n`;
  });
  return shownTogether([shown`${head}\n`, ...lines]);
}

/** What `dibs apply` leaves to a person. */
export function leftText({ keys, elsewhere }: Plan): Shown {
  return shownTogether([
    ...keys.map(
      (key) =>
        shown`Access key ${JSON.stringify(key.name)} is ${key.action === 'create' ? 'missing' : 'not as the file says'}. Run: ${keyCommand(key)}\n`,
    ),
    ...elsewhere.map(
      ({ name, database, wished }) =>
        shown`Queue ${JSON.stringify(name)} is in the database ${database}, and the file says ${wished}. POST /queues/${name}/relocate moves it.\n`,
    ),
  ]);
}

function summary({ changes, keys }: Plan): string {
  const all = [...changes, ...keys];
  const words = { create: 'to create', change: 'to change', delete: 'to delete' };
  const parts = Object.entries(words).map(([action, text]) => [
    all.filter((change) => change.action === action).length,
    text,
  ]);
  return parts
    .filter(([number]) => number !== 0)
    .map(([number, text]) => `${number} ${text}`)
    .join(', ');
}

/** What differs, for people. */
export function planText(plan: Plan, paint: Paint): Shown {
  const { changes, keys, kept, elsewhere } = plan;
  if (changes.length + keys.length + elsewhere.length + kept.length === 0) return shown`No differences.\n`;
  return shownTogether([
    ...[...changes, ...keys].map((change) => changeText(change, paint)),
    leftText(plan),
    ...kept.map(({ name, jobs }) => shown`Queue ${JSON.stringify(name)} is kept: it has ${counted(jobs)}.\n`),
    changes.length + keys.length > 0 ? shown`${summary(plan)}\n` : shown``,
  ]);
}

const fieldJson = ({ path, before, after }: FieldChange): string => {
  const parts: [string, string][] = [['path', JSON.stringify(path)]];
  if (before !== undefined) parts.push(['before', before]);
  if (after !== undefined) parts.push(['after', after]);
  return objectOf(parts);
};

const changeJson = ({ kind, name, action, fields }: Change): string =>
  objectOf([
    ['kind', JSON.stringify(kind)],
    ['name', JSON.stringify(name)],
    ['action', JSON.stringify(action)],
    ['fields', `[${fields.map(fieldJson).join(',')}]`],
  ]);

/** The same for programs, each value with every digit. */
export const planJson = ({ changes, keys, kept, elsewhere }: Plan): string =>
  objectOf([
    ['changes', `[${changes.map(changeJson).join(',')}]`],
    ['keys', `[${keys.map(changeJson).join(',')}]`],
    ['kept', JSON.stringify(kept)],
    ['elsewhere', JSON.stringify(elsewhere)],
  ]);
