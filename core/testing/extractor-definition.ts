import type { Plugin } from '../contracts/index.js';

/** A platform's part of its tests; the kit adds everything that applies to all platforms. */
export interface ExtractorDefinition {
  plugin: Plugin;
  /** `import.meta.url` of the test file, which is in the `test` folder of the plugin. */
  folder: string;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Valid links → the id they must match to. */
  links: Readonly<Record<string, string>>;
  /** Links of other platforms, which must not match. */
  foreign: readonly string[];
  /** Links of the platform's hosts that are not items: `match` must return `{ unsupported }`. Default: none. */
  unsupported?: readonly string[];
  samples: readonly Sample[];
  /** Texts that must not appear in results, errors and logs: the values of secret options. Default: none. */
  secrets?: readonly string[];
  /** The time of `clock.now()`. Default 2026-06-15T12:00:00Z. */
  now?: string;
}

export type Sample = FoundSample | RefusedSample;

interface AnySample {
  name: string;
  /** As a user would submit it. */
  url: string;
  /** Folder in `fixtures/`. Default: the name. */
  fixture?: string;
  /** Options of the instance for this sample, in place of the definition's. */
  options?: Readonly<Record<string, unknown>>;
}

export interface FoundSample extends AnySample {
  /** Id of the item behind the link. */
  id: string;
  /** A part of the {@link Extraction}, with values and matchers. */
  expect: Readonly<Record<string, unknown>>;
  /** Further ids with which replies refer to the item or its data, such as its counters. Default: none. */
  aliases?: readonly string[];
  /** Why the replies cannot be changed to another item. Default: they can. */
  noDecoys?: string;
}

export interface RefusedSample extends AnySample {
  /** Code of the GatewayError. */
  error: string;
  /** The platform's message. */
  reason?: RegExp;
}

export function isRefused(sample: Sample): sample is RefusedSample {
  return 'error' in sample;
}

export function isFound(sample: Sample): sample is FoundSample {
  return !isRefused(sample);
}
