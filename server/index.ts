/*
 * The whole server, for embedding: `openServer` opens everything by its settings without listening, `createHttpServer`
 * makes a server for its handler, `openState` opens a state for a gateway of your own.
 */

export { createHttpServer, type HttpServer, type HttpServerOptions } from './http/index.js';
export { type OpenServer, type OpenServerOptions, openServer } from './open-server.js';
export { PlansFileError } from './plans/index.js';
export { PricesError } from './prices/index.js';
export { readSettings, type Settings, SettingsError } from './settings/index.js';
export { openState, type State, type StateSettings } from './state.js';
