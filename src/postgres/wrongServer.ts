/** A server that answers, and is not to be used: a standby, an old primary, or another cluster. Nothing was sent to it. */
export class WrongServer extends Error {}

/** No host of a URL has a server that is to be used. `errors` has why, for each of them. */
export class NoServer extends AggregateError {}

/** The same for anybody who asks: without the names of hosts, and without what a server or the network said. */
export const sayWithoutNames = ({ errors }: NoServer): string =>
  `No host of the database serves: ${errors
    .map((error) => (error instanceof WrongServer ? error.message : 'it does not answer'))
    .join('; ')}.`;
