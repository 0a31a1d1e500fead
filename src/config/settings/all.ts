import { ACCESS } from './access.ts';
import { DATABASE } from './database.ts';
import { LIMITS } from './limits.ts';
import { NETWORK } from './network.ts';
import { OBSERVING } from './observing.ts';
import type { ChoiceSetting, IntegerSetting, ListSetting, Settings, TextSetting } from './setting.ts';
import { STOPPING } from './stopping.ts';

/** Every variable of the environment that Dibs reads. A variable that is missing here cannot be read. */
export const SETTINGS = { ...NETWORK, ...DATABASE, ...ACCESS, ...LIMITS, ...OBSERVING, ...STOPPING };

/** As docs/configuration.md shows them. */
export const SECTIONS: { title: string; settings: Settings }[] = [
  { title: 'Network and TLS', settings: NETWORK },
  { title: 'Database', settings: DATABASE },
  { title: 'Access', settings: ACCESS },
  { title: 'Limits', settings: LIMITS },
  { title: 'Logs, metrics and traces', settings: OBSERVING },
  { title: 'Stopping', settings: STOPPING },
];

type NamesOf<Kind> = {
  [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Kind ? Name : never;
}[keyof typeof SETTINGS];

export type SettingName = keyof typeof SETTINGS;
export type IntegerName = NamesOf<IntegerSetting>;
export type ChoiceName = NamesOf<ChoiceSetting>;
export type ListName = NamesOf<ListSetting>;
export type TextName = NamesOf<TextSetting>;
