/** What a variable of the environment may be, and what is said of it. `about` is Markdown, as on docs/configuration.md. */
export type Setting = IntegerSetting | ChoiceSetting | ListSetting | TextSetting;

export interface IntegerSetting {
  kind: 'integer';
  /** What is counted. '': nothing is. */
  unit: string;
  default: number;
  least: number;
  most: number;
  about: string;
}

export interface ChoiceSetting {
  kind: 'choice';
  values: readonly string[];
  /** '': none of the values, as `about` tells. */
  default: string;
  about: string;
}

/** A list with commas in between. */
export interface ListSetting {
  kind: 'list';
  /** What its items are. */
  items: string;
  about: string;
}

export interface TextSetting {
  kind: 'text';
  /** What kind of text: a URL, a path. */
  is: string;
  default?: string;
  about: string;
}

/** Variables that belong together, by their names. */
export type Settings = Record<string, Setting>;
