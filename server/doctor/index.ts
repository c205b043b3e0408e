export type { Finding } from './check.js';
export { checkAddress, checkSettings } from './environment.js';
export { checkBrowser, checkClock, checkDataFolder, checkFfmpeg, checkNode, checkSecrets } from './machine.js';
export { checkDatabase, checkFiles, checkPlugins, checkProxy } from './services.js';
export { checkSignIn } from './sign-in.js';
