export type { Finding } from './checks.js';
export {
  checkAddress,
  checkBrowser,
  checkClock,
  checkDataFolder,
  checkFfmpeg,
  checkNode,
  checkSecrets,
  checkSettings,
  checkSignIn,
} from './checks.js';
export { checkDatabase, checkFiles, checkPlugins, checkProxy } from './services.js';
