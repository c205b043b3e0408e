/*
 * What the gateway imports to read the plugins file, load plugins, find contributions and give each plugin its
 * services.
 */

export { CONTRIBUTION_LISTS, checkContributions, namesServed } from './contributions.js';
export {
  AUDIO_FILTERS,
  BROWSER,
  CACHE,
  CLOCK,
  createToken,
  HINTS,
  HTTP,
  LOGGER,
  type Resolve,
  RootScope,
  registerInstanceServices,
  STORAGE,
} from './instance-services.js';
export {
  entriesBefore,
  importPlugin,
  PluginConfigError,
  parsePluginConfig,
  readPluginConfig,
  resolveAliases,
  servesOf,
} from './plugin-config.js';
export {
  CONTRIBUTION_CODES,
  cleanRequestId,
  createHideOptions,
  impossibleUsage,
  readReportedUsage,
} from './plugin-failure.js';
export { PluginHost } from './plugin-host.js';
export type { InstancePolicy } from './plugin-instance.js';
export { type Registered, type RegisteredText, Registry } from './registry.js';
