/// <reference types="node" preserve="true" />
/** `mediagate/testing/server`: the server for tests of plugins. */

export { openReplayServer, type ReplayFolder, type ReplayServer, type ReplayServerOptions } from './replay-server.js';
