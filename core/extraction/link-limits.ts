/*
 * Limits of media links: connections at a time, bytes of a link, and bytes a second of a key and of all keys. They are
 * those of this process. A transfer above its rate waits and is never refused; a link that has given what it may is
 * refused until it expires. What is fetched to be merged is paced at the same rates, with a budget of its own.
 */

import type { Clock, MediaLinkOptions } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { boundedTable } from '../storage/index.js';

const MAX_CONNECTIONS = 4;
/** A player seeks back and forth; a link that is passed around is not a download site. */
export const MAX_TIMES = 3;
/** More than players read ahead: files that are smaller may be read this often. */
const FREE_BYTES = 1024 * 1024;
const BUSY_SECONDS = 5;
/** Shorter waits are skipped: a timer takes longer than that. */
const MIN_WAIT_MS = 20;

interface LinkLimitOptions extends Pick<MediaLinkOptions, 'bytesPerSecond' | 'keyBytesPerSecond'> {
  clock: Clock;
}

/** A transfer of a file by a link. */
export interface LimitedTransfer {
  /** Name of the link. */
  name: string;
  /** Bytes of its file. */
  size: number;
  /** Id of the key that the link was made for. */
  issuer: string;
  signal: AbortSignal;
}

/** The limits of all media links. */
export class LinkLimits {
  readonly #options: LinkLimitOptions;
  /** Name of a link → bytes sent for it. */
  readonly #sent = boundedTable<number>(100_000);
  /** Name of a link → bytes of the largest of its files, by {@link remember}. */
  readonly #sizes = boundedTable<number>(100_000);
  /** Name of a link → open connections. */
  readonly #connections = new Map<string, number>();
  /** When the next bytes are due: of all, and of each key. */
  readonly #due = boundedTable<number>(10_000);

  constructor(options: LinkLimitOptions) {
    this.#options = options;
  }

  /** Takes a connection. @returns Gives it back. @throws GatewayError `rate_limit_exceeded`. */
  take(name: string): () => void {
    const count = this.#connections.get(name) ?? 0;
    if (count >= MAX_CONNECTIONS) {
      throw tooMuch(`A media link has at most ${MAX_CONNECTIONS} connections at a time.`, BUSY_SECONDS);
    }
    this.#connections.set(name, count + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = (this.#connections.get(name) ?? 1) - 1;
      if (left === 0) this.#connections.delete(name);
      else this.#connections.set(name, left);
    };
  }

  /** Measures a link by the largest of its files: a video in another form, or a part of it, is smaller. */
  remember(name: string, size: number): void {
    if (size > (this.#sizes.get(name) ?? 0)) this.#sizes.set(name, size);
  }

  /** @throws GatewayError `rate_limit_exceeded` if the link has given all bytes that it may. */
  check(name: string, size: number, expiresAt: number): void {
    if ((this.#sent.get(name) ?? 0) < this.#mostBytes(name, size)) return;
    const seconds = Math.max(1, Math.ceil((expiresAt - this.#options.clock.now()) / 1000));
    throw tooMuch(`A media link gives at most ${MAX_TIMES} times its file; extract the link again.`, seconds);
  }

  /**
   * Counts bytes of a transfer, and waits until they may be sent. Each chunk is due when those before it have had their
   * time, so parallel transfers share the rate; a transfer that waited loses nothing.
   * @throws GatewayError `rate_limit_exceeded` if the link has given all bytes that it may; the signal's reason.
   */
  async pass({ name, size, issuer, signal }: LimitedTransfer, bytes: number): Promise<void> {
    const total = (this.#sent.get(name) ?? 0) + bytes;
    this.#sent.set(name, total);
    if (total > this.#mostBytes(name, size)) throw tooMuch('The link has given all bytes that it may.', BUSY_SECONDS);
    await this.#pace(['', issuer], bytes, signal);
  }

  /**
   * Waits until bytes may be fetched that are stored before they are sent: at the same rates, but apart from what is
   * sent, since a viewer who follows is sent the same bytes.
   * @throws The signal's reason.
   */
  async fetch(issuer: string, bytes: number, signal: AbortSignal): Promise<void> {
    await this.#pace(['fetched', `${issuer} fetched`], bytes, signal);
  }

  /** @param names Of what all keys share, and of the key. */
  async #pace([all, key]: readonly [string, string], bytes: number, signal: AbortSignal): Promise<void> {
    const { clock, bytesPerSecond, keyBytesPerSecond } = this.#options;
    const now = clock.monotonic();
    const waits = [this.#book(all, bytesPerSecond, bytes, now), this.#book(key, keyBytesPerSecond, bytes, now)];
    const ms = Math.max(...waits);
    if (ms >= MIN_WAIT_MS) await clock.sleep(ms, signal);
  }

  #mostBytes(name: string, size: number): number {
    return MAX_TIMES * Math.max(size, this.#sizes.get(name) ?? 0, FREE_BYTES);
  }

  /** Milliseconds until they are due. */
  #book(name: string, rate: number | undefined, bytes: number, now: number): number {
    if (rate === undefined) return 0;
    const due = Math.max(now, this.#due.get(name) ?? now);
    this.#due.set(name, due + (bytes * 1000) / rate);
    return due - now;
  }
}

function tooMuch(message: string, retryAfterSeconds: number): GatewayError {
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds });
}
