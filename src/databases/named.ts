import { isOutage, StartError } from '../errors.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';

/** A line names so many queues. */
const SHOWN = 5;

/** A queue by its name and its number. */
export const withNumber = ({ id, name }: { id: number; name: string }): string => `${name} (${id})`;

/** The first of these names, and how many more there are. */
export const listed = (names: string[]): string =>
  names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? `, and ${names.length - SHOWN} more` : '');

/** Where there are several databases: has an outage tell which one it is of. @throws StartError, or the error */
export const outageOf = (name: string) => (failure: unknown) => {
  const error = outageAsRefusal(failure);
  throw isOutage(error)
    ? new StartError(`The database "${name}" cannot serve: ${causeOf((error as Error).cause)}.`)
    : error;
};

/** The same for what makes a start fail: its version, its encoding, its schema. @throws StartError, or the error */
export const startErrorOf = (name: string) => (error: unknown) => {
  throw error instanceof StartError ? new StartError(`The database "${name}": ${error.message}`) : error;
};
