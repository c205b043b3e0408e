import type { Browser, Logger, SoundFilters, Storage } from '../contracts/index.js';
import { GatewayError } from './errors.js';

/** Stands where a gateway has no browser: rungs that want one are skipped. */
export const absentBrowser: Browser = {
  available: false,
  run: () => Promise.reject(new GatewayError('plugin_unavailable', 'This gateway has no browser.')),
};

/** Stands where a gateway has no ffmpeg. */
export const absentSoundFilters: SoundFilters = {
  available: false,
  // biome-ignore lint/correctness/useYield: it has nothing to give
  async *samples() {
    throw new GatewayError('plugin_unavailable', 'This gateway has no ffmpeg.');
  },
};

const noStorage = () => Promise.reject(new GatewayError('plugin_unavailable', 'This gateway has no file storage.'));

/** Stands where a gateway was given no storage. */
export const absentStorage: Storage = { write: noStorage, read: noStorage, stat: noStorage, delete: noStorage };

/** Stands where an embedder wants no log. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
