export interface CallOptions {
  signal?: AbortSignal;
  /** How long to wait for the whole answer. Default: the client's, and the time that the request itself asks Dibs to wait. */
  timeoutSeconds?: number;
  /** Is told each part of an answer of 2xx as it comes. Then the request returns nothing. */
  heard?(part: string): void;
}

/** A part of a path. A URL cannot have the parts `.` and `..`: fetch resolves them. Dibs reads them when they are encoded twice. */
export const part = (name: string): string =>
  /^\.\.?$/.test(name) ? name.replaceAll('.', '%252E') : encodeURIComponent(name);

/** A request, as the generated operations make it. */
export interface Call {
  method: string;
  path: string;
  /** Sent as JSON. A `RawJson` is sent as it is. */
  body?: unknown;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string | undefined>;
  asText?: boolean;
}

/** JSON text that is sent as it is. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What the operations need: a `Client`, or something that stands for one. */
export interface Caller {
  // biome-ignore lint/suspicious/noExplicitAny: the operation that calls it says what it answers.
  request(call: Call, options?: CallOptions): Promise<any>;
}
