/** Media hosts that refuse, throttle and break off as those of the platforms do, by rules. */

import { randomInt } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface HostRules {
  /** Headers of requests that it requires: others get 403. Default: none. */
  requires?: Readonly<Record<string, RegExp>>;
  /** `Cross-Origin-Resource-Policy` of its answers. Default: none. */
  policy?: 'same-origin' | 'same-site';
  /** An address is refused with 403 this long after its first request. Default: never. */
  livesMs?: number;
  /** Answers of more bytes, or to requests without a range, are this slow. Default: none is. */
  throttle?: { aboveBytes: number; bytesPerSecond: number };
  /** Connections that break at a random byte. Default 0. */
  drops?: number;
}

/** The rules of the five platforms' hosts, as public issues and players describe them. */
export const PLATFORM_RULES: Readonly<Record<'vidsite' | 'clip_video' | 'clip_shop' | 'social' | 'photo', HostRules>> =
  {
    vidsite: { throttle: { aboveBytes: 10 * 1024 * 1024, bytesPerSecond: 60_000 }, livesMs: 2_000 },
    clip_video: { requires: { cookie: /\bvisit=[0-9a-f]{8}\b/, referer: /^https:\/\/invented\.example\// }, drops: 3 },
    clip_shop: { requires: { referer: /^https:/ }, drops: 3 },
    social: { policy: 'same-origin', livesMs: 2_000 },
    photo: { policy: 'same-origin', drops: 3 },
  };

const TICK_MS = 50;

/** Answers requests of a file by the rules. */
export function mediaHost(content: Uint8Array, rules: HostRules) {
  const { requires = {}, policy, livesMs = Number.POSITIVE_INFINITY, throttle } = rules;
  let drops = rules.drops ?? 0;
  const firstAt = new Map<string, number>();
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { url = '', headers } = request;
    const now = performance.now();
    const bornAt = firstAt.get(url) ?? now;
    firstAt.set(url, bornAt);
    const isBound = Object.entries(requires).every(([name, form]) => form.test(String(headers[name] ?? '')));
    if (!isBound || now - bornAt > livesMs) {
      response.writeHead(403, { 'content-type': 'text/html' }).end('<html>403</html>');
      return;
    }
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    const end = Math.min(last ? Number(last) : content.length - 1, content.length - 1);
    if (start > end) {
      response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end();
      return;
    }
    const body = content.subarray(start, end + 1);
    response.writeHead(first === undefined ? 200 : 206, {
      'accept-ranges': 'bytes',
      'content-length': body.length,
      ...(first !== undefined && { 'content-range': `bytes ${start}-${end}/${content.length}` }),
      ...(policy && { 'cross-origin-resource-policy': policy }),
    });
    const isSlow = throttle && (first === undefined || body.length > throttle.aboveBytes);
    if (drops > 0) {
      drops -= 1;
      response.write(body.subarray(0, randomInt(body.length)), () => setTimeout(() => response.destroy(), 5));
    } else if (isSlow) trickle(body, throttle.bytesPerSecond, response);
    else response.end(body);
  };
}

function trickle(body: Uint8Array, bytesPerSecond: number, response: ServerResponse): void {
  const step = Math.ceil((bytesPerSecond * TICK_MS) / 1000);
  let at = 0;
  const timer = setInterval(() => {
    response.write(body.subarray(at, at + step));
    at += step;
    if (at < body.length) return;
    clearInterval(timer);
    response.end();
  }, TICK_MS);
  response.once('close', () => clearInterval(timer));
}
