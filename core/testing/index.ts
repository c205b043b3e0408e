/// <reference types="node" preserve="true" />
/** `mediagate/testing`: the toolkit for plugin tests. */

export { createMemoryCache } from '../storage/index.js';
export { audioProviderChecks, describeAudioProvider } from './audio-checks.js';
export type {
  AudioProviderDefinition,
  AudioSample,
  AudioUpstreamScript,
  SampleOf,
  SentToUpstream,
} from './audio-definition.js';
export { type Check, reportAll } from './check.js';
export { describeExtractor, extractorChecks } from './extractor-checks.js';
export type { ExtractorDefinition, FoundSample, RefusedSample, Sample } from './extractor-definition.js';
export { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from './fake-http.js';
export { type Exchange, type FixtureExchange, type FixtureFile, pluginFolder, readFixture } from './fixtures.js';
export { describeImageProvider, imageProviderChecks } from './image-checks.js';
export type { ImageProviderDefinition, ImageUpstreamScript } from './image-definition.js';
export { createManualClock, type ManualClock } from './manual-clock.js';
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
export { createMemoryStorage, createRecordingLogger, type LogLine } from './memory-services.js';
export { describePlugin, type PluginDefinition, pluginChecks } from './plugin-checks.js';
export { createRecording, type Recording } from './recording.js';
export { createReplay, type Replay } from './replay.js';
export {
  audioProviderOf,
  extractorOf,
  imageProviderOf,
  setUpPlugin,
  type TestSetup,
  type TestSetupOptions,
  textProviderOf,
} from './setup.js';
export { describeTextProvider, textProviderChecks } from './text-checks.js';
export type { TextContent, TextProviderDefinition, TextUpstreamScript } from './text-definition.js';
