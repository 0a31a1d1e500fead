import {
  type ChoiceName,
  type IntegerName,
  type ListName,
  SETTINGS,
  type SettingName,
  type TextName,
} from './settings/all.ts';
import type { ChoiceSetting, ListSetting, TextSetting } from './settings/setting.ts';

/** A text with a default is never missing. */
type ValueOf<Name extends TextName> = (typeof SETTINGS)[Name] extends { default: string }
  ? string
  : string | undefined;

/** Reads environment variables, and gathers what is wrong with them. An empty variable counts as none. */
export function createVariables(env: Record<string, string | undefined>) {
  /** One line for each bad variable. Each begins with its name. */
  const problems: string[] = [];
  const given = (name: SettingName): string | undefined => env[name] || undefined;

  return {
    problems,

    /** The value of a variable, whatever it is, or undefined when it has none. */
    given,

    text<Name extends TextName>(name: Name) {
      const setting: TextSetting = SETTINGS[name];
      return (given(name) ?? setting.default) as ValueOf<Name>;
    },

    integer(name: IntegerName): number {
      const { default: fallback, least, most } = SETTINGS[name];
      const text = given(name);
      if (text === undefined) return fallback;
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (value >= least && value <= most) return value;
      problems.push(`${name} must be a whole number from ${least} to ${most}, not "${text}"`);
      return fallback;
    },

    /** One of the values, or the default. */
    choice(name: ChoiceName): string {
      const { values, default: fallback }: ChoiceSetting = SETTINGS[name];
      const text = given(name);
      if (text !== undefined && !values.includes(text))
        problems.push(`${name} must be one of ${values.join(', ')}, not "${text}"`);
      return text ?? fallback;
    },

    /** The items of a list, in small letters. */
    list(name: ListName, isValid: (item: string) => boolean): string[] {
      const { items: what }: ListSetting = SETTINGS[name];
      const items = (given(name) ?? '').split(',').map((item) => item.trim().toLowerCase());
      const some = items.filter((item) => item !== '');
      for (const item of some)
        if (!isValid(item)) problems.push(`${name} must be ${what}, separated by commas, not "${item}"`);
      return some;
    },
  };
}

export type Variables = ReturnType<typeof createVariables>;
