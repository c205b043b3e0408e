/*
 * The settings of the gateway, the secrets they name and the programs they need. Other folders import these from here.
 */

export { checkExecutables, findChromium, findFfmpeg, notExecutable, packagedFfmpeg } from './executables.js';
export {
  checkRoom,
  findIdentitySecrets,
  findLinkSecrets,
  findPeppers,
  fingerprintsOf,
  loadIdentitySecrets,
  loadLinkSecrets,
  loadPeppers,
  loadWebhookSecrets,
  MIN_FILES,
  roomOf,
  secretsOf,
} from './secrets.js';
export { PLUGIN_SETTING_DESCRIPTIONS } from './setting-values.js';
export {
  checkSetting,
  readSettings,
  SETTING_DESCRIPTIONS,
  type Settings,
  SettingsError,
} from './settings.js';
export {
  findUnreadFiles,
  loadSettingsFile,
  SETTINGS_FILE,
  setInText,
  usedSettingsFile,
  withoutSettingsFile,
} from './settings-file.js';
export {
  DOT_ENV_ADVICE,
  findMisspelt,
  hasDotEnv,
  pointToSetting,
  settingsHelp,
} from './settings-help.js';
export { maskSetting, type ReportedSetting, reportSettings } from './settings-report.js';
export { isTracing, type TracingSettings } from './tracing-settings.js';
