export { checkExecutables, findChromium, findFfmpeg, notExecutable } from './executables.js';
export {
  checkRoom,
  findLinkSecrets,
  findPeppers,
  fingerprintsOf,
  loadLinkSecrets,
  loadPeppers,
  loadWebhookSecrets,
  MIN_FILES,
  roomOf,
  secretsOf,
} from './secrets.js';
export { PLUGIN_SETTING_DESCRIPTIONS } from './setting-values.js';
export {
  readSettings,
  SETTING_DESCRIPTIONS,
  type Settings,
  SettingsError,
} from './settings.js';
export { DOT_ENV_ADVICE, findMisspelt, hasDotEnv, pointToSetting, settingsHelp } from './settings-help.js';
export { ESSENTIAL_SETTINGS, SETTING_TOPICS } from './settings-topics.js';
export { isTracing, type TracingSettings } from './tracing-settings.js';
