import type { Socket } from 'node:net';
import type { AddressGuard } from '../net/index.js';
import type { Dial } from './forward-proxy-dial.js';
import { type Pass, ProxyRefusal } from './forward-proxy-pass.js';

export interface RequestedTunnel {
  /** Host and port, as the client wrote them. */
  target: string | undefined;
  client: Socket;
  /** What the client sent along, unasked. */
  head: Buffer;
  pass: Pass;
  guard: AddressGuard;
  dial: Dial;
}

const IDLE_MS = 60_000;

/** Opens a tunnel and resolves when it has ended. @throws what keeps it from being opened. */
export async function openTunnel({ target, client, head, pass, guard, dial }: RequestedTunnel): Promise<void> {
  const { signal, trustedOrigins } = pass;
  const url = readTarget(target ?? '', (candidate) => guard.isTrusted(candidate, trustedOrigins));
  guard.checkUrl(url, trustedOrigins);
  const stop = () => client.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const upstream = await dial.connect(url, { trusted: guard.isTrusted(url, trustedOrigins), signal });
    if (client.destroyed) {
      upstream.destroy();
      return;
    }
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) client.unshift(head);
    await join(client, upstream, pass);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function join(client: Socket, upstream: Socket, pass: Pass): Promise<void> {
  for (const [side, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    side.setTimeout(IDLE_MS, () => side.destroy());
    // What has been read from one side still reaches the other.
    side.on('close', () => other.destroySoon());
    pass.meter(side);
  }
  client.pipe(upstream).pipe(client);
  return new Promise((resolve) => client.on('close', resolve));
}

/**
 * A tunnel does not say what for: https on its port, http (that is WebSocket) on its own, and what the operator trusts on
 * any other.
 */
function readTarget(target: string, isTrusted: (url: URL) => boolean): URL {
  const readings = ['https', 'http'].map((scheme) => URL.parse(`${scheme}://${target}`));
  const urls = readings.filter((url) => url !== null && url.pathname === '/' && `${url.search}${url.hash}` === '');
  const [secure, plain] = urls as URL[];
  if (!secure || !plain || !target.includes(':')) throw new ProxyRefusal(400);
  return [secure, plain].find((url) => url.port === '' || isTrusted(url)) ?? secure;
}
