export { checkRoom, LEAST_FILES, roomOf } from './data-folder.js';
export { checkExecutables, findChromium, findFfmpeg, notExecutable } from './executables.js';
export { PLUGIN_SETTING_DESCRIPTIONS } from './plugin-settings.js';
export {
  findLinkSecrets,
  findPeppers,
  fingerprintsOf,
  loadLinkSecrets,
  loadPeppers,
  loadWebhookSecrets,
  secretsOf,
} from './secrets.js';
export {
  readSettings,
  SETTING_DESCRIPTIONS,
  type Settings,
  SettingsError,
} from './settings.js';
export { DOT_ENV_ADVICE, findMisspelt, hasDotEnv, pointToSetting, settingsHelp } from './settings-help.js';
export type { SettingDescription } from './settings-table.js';
export { isTracing, type TracingSettings } from './tracing-settings.js';
