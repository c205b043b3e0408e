import type { Plugin } from '../contracts/index.js';

/** What a platform's test says about the platform; the kit adds everything that is true of all of them. */
export interface ExtractorDefinition {
  plugin: Plugin;
  /** `import.meta.url` of the test file, which lies in the `test` folder of the plugin's. */
  folder: string;
  /** Options of a usable entry. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Good links → the id they must match to. */
  links: Readonly<Record<string, string>>;
  /** Links of others, which must not match. */
  foreign: readonly string[];
  /** Links of the platform's hosts that are not items: `match` must throw `unsupported_link`. Default: none. */
  unsupported?: readonly string[];
  samples: readonly Sample[];
  /** Texts that must not show in results, errors and logs: the values of secret options. Default: none. */
  secrets?: readonly string[];
  /** What `clock.now()` says. Default 2026-06-15T12:00:00Z. */
  now?: string;
}

export type Sample = FoundSample | RefusedSample;

interface AnySample {
  name: string;
  /** As a user would submit it. */
  url: string;
  /** Folder in `fixtures/`. Default: the name. */
  fixture?: string;
  /** Options of the entry for this sample, in place of the definition's. */
  options?: Readonly<Record<string, unknown>>;
}

export interface FoundSample extends AnySample {
  /** Id of the item that the link leads to. */
  id: string;
  /** A part of the {@link Extraction}, with values and matchers. */
  expect: Readonly<Record<string, unknown>>;
  /** Further ids by which replies name the item or what hangs on it, as its counters. Default: none. */
  aliases?: readonly string[];
  /** Why no reply can be made to speak of another item. Default: one can. */
  noDecoys?: string;
}

export interface RefusedSample extends AnySample {
  /** Code of the GatewayError. */
  error: string;
  /** The platform's words. */
  reason?: RegExp;
}

export function isRefused(sample: Sample): sample is RefusedSample {
  return 'error' in sample;
}

export function isFound(sample: Sample): sample is FoundSample {
  return !isRefused(sample);
}
