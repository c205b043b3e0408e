export {
  BROWSER,
  CACHE,
  CLOCK,
  createRootScope,
  createToken,
  HTTP,
  LOGGER,
  type Resolve,
  type RootScope,
  registerEntryServices,
  SOUND_FILTERS,
  STORAGE,
} from './entry-services.js';
export { CONTRIBUTION_CODES } from './plugin-failure.js';
export { createPluginHost, type EntryTerms, type PluginHost } from './plugin-host.js';
export { CONTRIBUTION_LISTS, createRegistry, type Registered, type Registry } from './registry.js';
