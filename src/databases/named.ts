import { isOutage, StartError } from '../errors.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';

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
