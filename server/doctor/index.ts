export type { Finding } from './checks.js';
export {
  checkAddress,
  checkBrowser,
  checkClock,
  checkDatabase,
  checkDataFolder,
  checkFfmpeg,
  checkFiles,
  checkNode,
  checkPlugins,
  checkProxy,
  checkSecrets,
  checkSettings,
  checkSignIn,
} from './checks.js';
