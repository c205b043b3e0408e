/*
 * Counts what a media link sends in the usage of its key, and charges it by the price of a gigabyte: once, for the bytes
 * that were sent, also if the client leaves. Under a budget of money the cost is reserved before. A file whose length is
 * known reserves all that is asked for; an archive reserves 16 MiB at a time while it is sent, and is cut off if there is
 * no money for the next ones.
 */

import type { Clock } from '../../core/contracts/index.js';
import { toGatewayError } from '../http/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import type { Prices } from '../prices/index.js';
import { type SettleLinks, statusOfCode, type UsageLog, type UsageService } from '../usage/index.js';

const OK = 200;
/** What is reserved if the length is not known. */
export const STEP_BYTES = 16 * 1024 * 1024;

export interface TransferServices {
  usage: Pick<UsageService, 'admitBytes'>;
  usageLog: Pick<UsageLog, 'count'>;
  /** Default: none. */
  prices?: Prices;
  clock: Clock;
}

/** Whose bytes they are. */
export interface TransferOf {
  key: ApiKeyRecord;
  platform: string;
  /** Template: `/v1/media/:name`. */
  route: string;
  /** Of the request, by the clock's monotonic time. */
  startedAt: number;
  /** In the usage log. */
  requestId: string;
}

/** One answer to a media link. */
export class MediaTransfer {
  readonly #services: TransferServices;
  readonly #of: TransferOf;
  readonly #settles: SettleLinks[] = [];
  #reserved = 0;
  #isRead = false;

  constructor(services: TransferServices, of: TransferOf) {
    this.#services = services;
    this.#of = of;
  }

  /** Reserves the cost of further bytes. @throws GatewayError `insufficient_quota`, `upstream_unavailable`. */
  async reserve(bytes: number): Promise<void> {
    const { key, route, platform } = this.#of;
    this.#settles.push(await this.#services.usage.admitBytes(key, { route, platform, bytes }));
    this.#reserved += bytes;
  }

  /** The same bytes, counted and charged when they end. */
  async *counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.#isRead = true;
    let bytes = 0;
    let code = 'client_disconnected';
    try {
      for await (const chunk of chunks) {
        if (bytes + chunk.byteLength > this.#reserved) await this.reserve(STEP_BYTES);
        bytes += chunk.byteLength;
        yield chunk;
      }
    } catch (error) {
      code = toGatewayError(error).code;
      throw error;
    } finally {
      this.#end(bytes, code);
    }
  }

  /** Call it in any case, once the client has the answer or has left: bytes that are never read cost nothing. */
  release(): void {
    if (!this.#isRead) this.#settle(0);
  }

  /** @param code Why nothing was sent, if so. */
  #end(bytes: number, code: string): void {
    const { usageLog, prices, clock } = this.#services;
    const { key, route, platform, startedAt, requestId } = this.#of;
    const end = bytes > 0 ? { status: OK, errorCode: null } : { status: statusOfCode(code), errorCode: code };
    const cost = prices?.byteCostOf(bytes) ?? null;
    this.#settle(cost ?? 0);
    usageLog.count({
      keyId: key.id,
      accountId: key.accountId,
      route,
      model: platform,
      requests: 1,
      failed: bytes > 0 ? 0 : 1,
      bytes,
      priced: cost === null ? 0 : 1,
      cost: cost ?? 0,
      latencyMs: Math.max(0, clock.monotonic() - startedAt),
      at: clock.now(),
      listed: [{ requestId, ...end, cost }],
    });
  }

  /** Of several reservations, the first one bears the cost, and all are given back. */
  #settle(cost: number): void {
    for (const [index, settle] of this.#settles.entries()) settle(index === 0 ? cost : 0);
  }
}
