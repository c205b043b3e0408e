/*
 * `mediagate/testing`: the toolkit for tests of plugins. It has checks for each kind of contribution, fakes of the
 * gateway's services, matchers, and fixtures that are recorded and replayed.
 */

/// <reference types="node" preserve="true" />
export { createMemoryCache } from '../storage/index.js';
export type { ExtractorDefinition, FoundSample, RefusedSample, Sample } from './extraction-run.js';
export { describeExtractor, extractorChecks } from './extractor.js';
export {
  createFakeHttp,
  createManualClock,
  createMemoryStorage,
  createRecordingLogger,
  type FakeHttp,
  type FakeReply,
  type LogLine,
  type ManualClock,
  type SentRequest,
} from './fakes.js';
export { beginWork, type EndedWork } from './left-running.js';
export {
  absent,
  approximately,
  atLeast,
  compare,
  containing,
  count,
  isoTime,
  type Matcher,
  matching,
  oneOf,
  present,
  startsWith,
} from './matchers.js';
export {
  type AudioProviderDefinition,
  type AudioSample,
  type AudioUpstreamScript,
  audioProviderChecks,
  describeAudioProvider,
  type SampleOf,
  type SentToUpstream,
} from './models/audio.js';
export { describeImageProvider, imageProviderChecks } from './models/image.js';
export type { ImagePollingScript } from './models/image-polling.js';
export type { ImageProviderDefinition, ImageUpstreamScript } from './models/image-run.js';
export { describeTextProvider, textProviderChecks } from './models/text.js';
export type { TextContent, TextProviderDefinition, TextUpstreamScript } from './models/text-run.js';
export { describePlugin, type PluginDefinition, pluginChecks } from './plugin-checks.js';
export { createRecording, type Recording } from './recording.js';
export {
  createReplay,
  type Exchange,
  type FixtureExchange,
  type FixtureFile,
  pluginFolder,
  type Replay,
  readFixture,
} from './replay.js';
export { type Check, reportAll } from './runner.js';
export {
  audioProviderOf,
  extractorOf,
  imageProviderOf,
  setUpPlugin,
  type TestSetup,
  type TestSetupOptions,
  textProviderOf,
} from './setup.js';
