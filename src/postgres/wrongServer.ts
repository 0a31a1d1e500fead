/** A server that answers, and is not to be used: a standby, an old primary, or another cluster. Nothing was sent to it. */
export class WrongServer extends Error {}

/** No host of a URL has a server that is to be used. `errors` has why, for each of them. */
export class NoServer extends AggregateError {}
