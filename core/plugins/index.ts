export { createRootScope, createToken, type Resolve, type RootScope } from './container.js';
export {
  BROWSER,
  CACHE,
  CLOCK,
  HTTP,
  LOGGER,
  registerEntryServices,
  SOUND_FILTERS,
  STORAGE,
} from './entry-services.js';
export { CONTRIBUTION_CODES } from './plugin-failure.js';
export { createPluginHost, type EntryTerms, type PluginHost } from './plugin-host.js';
export { CONTRIBUTION_LISTS, createRegistry, type Registered, type Registry } from './registry.js';
