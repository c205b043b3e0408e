import { timingSafeEqual } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isGatewayError } from '../runtime/index.js';

/** How far one client of the forward proxy may go. */
export interface PassLimits {
  /** Origins let through although they are private. */
  trustedOrigins: readonly string[];
  /** Bytes of content, both ways together; beyond it everything of the client is cut. */
  maxBytes: number;
  /** Requests and tunnels at the same time; more are refused. */
  maxConnections: number;
}

/** The proxy's own record of one client. */
export interface Pass {
  readonly trustedOrigins: readonly string[];
  readonly bytes: number;
  readonly refusals: number;
  /** Resolves when there have been too many bytes. */
  readonly spent: Promise<void>;
  /** Aborts when the pass ends. */
  readonly signal: AbortSignal;
  accepts(password: string): boolean;
  /** Runs one request or tunnel and counts it. @throws ProxyRefusal where there are too many, or what the work throws. */
  run(work: (pass: Pass) => Promise<void>): Promise<void>;
  /** Counts what comes out of a stream. Whoever pipes the stream must do so before anything else is awaited. */
  meter(stream: Readable): void;
  /** Idempotent. */
  end(): void;
}

/** An answer of the proxy's own, in place of what was asked for. */
export class ProxyRefusal extends Error {
  override readonly name = 'ProxyRefusal';

  constructor(readonly status: 400 | 403 | 407 | 503) {
    super(`the forward proxy answered ${status}`);
  }
}

/** The HTTP status that tells a client of the proxy about a failure. */
export function statusOf(error: unknown): number {
  if (error instanceof ProxyRefusal) return error.status;
  if (!isGatewayError(error)) return 502;
  if (error.code === 'upstream_refused') return 403;
  return error.code === 'upstream_timeout' ? 504 : 502;
}

export function createPass(password: string, { trustedOrigins, maxBytes, maxConnections }: PassLimits): Pass {
  const expected = Buffer.from(password);
  const ending = new AbortController();
  let bytes = 0;
  let refusals = 0;
  let connections = 0;
  let spend = () => {};
  const spent = new Promise<void>((resolve) => {
    spend = resolve;
  });

  const pass: Pass = {
    trustedOrigins,
    spent,
    signal: ending.signal,
    get bytes() {
      return bytes;
    },
    get refusals() {
      return refusals;
    },
    accepts(given) {
      const candidate = Buffer.from(given);
      return candidate.length === expected.length && timingSafeEqual(candidate, expected);
    },
    async run(work) {
      try {
        if (ending.signal.aborted) throw new ProxyRefusal(403);
        if (connections >= maxConnections) throw new ProxyRefusal(503);
        connections++;
        try {
          await work(pass);
        } finally {
          connections--;
        }
      } catch (error) {
        if (error instanceof ProxyRefusal || statusOf(error) === 403) refusals++;
        throw error;
      }
    },
    meter(stream) {
      stream.on('data', (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) return;
        spend();
        pass.end();
      });
    },
    end: () => ending.abort(new ProxyRefusal(403)),
  };
  return pass;
}
