/**
 * Limits bytes a second to the clients of one key and to all of them. Each chunk is due when those before it have had
 * their time, so parallel transfers share the rate; a transfer that waited loses nothing.
 */

import { LRUCache } from 'lru-cache';
import type { Clock, MediaLinkOptions } from '../contracts/index.js';

/** Shorter waits are skipped: a timer takes longer than that. */
const MIN_WAIT_MS = 20;

export class Pace {
  readonly #options: Pick<MediaLinkOptions, 'bytesPerSecond' | 'keyBytesPerSecond'> & { clock: Clock };
  /** When the next bytes are due: of all, and of each key. */
  readonly #due = new LRUCache<string, number>({ max: 10_000 });

  constructor(options: Pick<MediaLinkOptions, 'bytesPerSecond' | 'keyBytesPerSecond'> & { clock: Clock }) {
    this.#options = options;
  }

  /** Waits until these bytes may be sent. @throws The signal's reason. */
  async wait(key: string, bytes: number, signal: AbortSignal): Promise<void> {
    const { clock, bytesPerSecond, keyBytesPerSecond } = this.#options;
    const now = clock.monotonic();
    const waits = [this.#book('', bytesPerSecond, bytes, now), this.#book(`${key} `, keyBytesPerSecond, bytes, now)];
    const ms = Math.max(...waits);
    if (ms >= MIN_WAIT_MS) await clock.sleep(ms, signal);
  }

  /** Milliseconds until they are due. */
  #book(name: string, rate: number | undefined, bytes: number, now: number): number {
    if (rate === undefined) return 0;
    const due = Math.max(now, this.#due.get(name) ?? now);
    this.#due.set(name, due + (bytes * 1000) / rate);
    return due - now;
  }
}
