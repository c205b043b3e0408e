/*
 * `mediagate/testing/server`: the server for tests of plugins. It gives the requests of plugins recorded replies, so
 * that these tests need no network. The reference below stays in the declarations, for projects that load no types of
 * Node.
 */

/// <reference types="node" preserve="true" />

export {
  openReplayServer,
  type ReplayFolder,
  type ReplayMedia,
  type ReplayServer,
  type ReplayServerOptions,
} from './replay-server.js';
