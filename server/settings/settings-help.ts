import { PLUGIN_SETTING_DESCRIPTIONS } from './plugin-settings.js';
import { SETTING_DESCRIPTIONS, type SettingDescription } from './settings.js';

/** What `serve --help` says below its options: every environment variable, in two lines each, which fits a narrow terminal. */
export function settingsHelp(): string {
  const all = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS];
  const width = Math.max(...all.map(({ name }) => name.length));
  const list = (settings: readonly SettingDescription[]) =>
    settings
      .flatMap(({ name, description, default: fallback }) => [
        `  ${name.padEnd(width)}  ${description}`,
        `  ${' '.repeat(width)}  Default: ${fallback}.`,
      ])
      .join('\n')
      .replaceAll('`', '');
  return [
    '',
    'Settings, from the environment:',
    list(SETTING_DESCRIPTIONS),
    '',
    "Real models and keys, which the package's own plugins.config.json takes from the environment:",
    list(PLUGIN_SETTING_DESCRIPTIONS),
  ].join('\n');
}

/** Commander's complaint about an option, and the setting that it is the name of, where there is one. */
export function pointToSetting(complaint: string): string {
  const [, option = ''] = /unknown option '--([a-z-]+)/.exec(complaint) ?? [];
  const setting = option.replaceAll('-', '_').toUpperCase();
  const isSetting = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS].some(({ name }) => name === setting);
  return isSetting ? `${complaint.trimEnd()}\n(${setting}=… in the environment sets it)\n` : complaint;
}
