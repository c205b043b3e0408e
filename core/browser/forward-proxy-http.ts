import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { AddressGuard } from '../net/index.js';
import { HOP_FIELDS } from '../net/index.js';
import type { Dial } from './forward-proxy-dial.js';
import { type Pass, ProxyRefusal } from './forward-proxy-pass.js';

const { request: httpRequest } = process.getBuiltinModule('node:http');

export interface ForwardedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  pass: Pass;
  guard: AddressGuard;
  dial: Dial;
}

const IDLE_MS = 60_000;

/**
 * Sends an absolute-form http request on and its answer back, as they come.
 * @throws what keeps it from being sent; an answer that breaks off ends the client's connection.
 */
export async function forwardRequest({ request, response, pass, guard, dial }: ForwardedRequest): Promise<void> {
  const url = URL.parse(request.url ?? '');
  if (url?.protocol !== 'http:') throw new ProxyRefusal(400);
  guard.checkUrl(url, pass.trustedOrigins);
  const stop = () => response.destroy();
  pass.signal.addEventListener('abort', stop, { once: true });
  try {
    const onward = await openOnward({ request, response, pass, guard, dial }, url);
    onward.setTimeout(IDLE_MS, () => onward.destroy());
    // Once there is an answer, it is the answer that breaks off.
    onward.on('error', () => {});
    // The client may go while it waits for the answer.
    response.once('close', () => onward.destroy());
    const answered = once(onward, 'response') as Promise<[IncomingMessage]>;
    pass.meter(request);
    // A body that breaks off shows as an error of the request it belongs to.
    const sent = pipeline(request, onward).catch(() => {});
    const [answer] = await answered;
    response.sendDate = false;
    // Without the words beside the status: nobody needs them, and some would not be let out again.
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.rawHeaders));
    pass.meter(answer);
    await pipeline(answer, response);
    await sent;
  } finally {
    pass.signal.removeEventListener('abort', stop);
  }
}

async function openOnward({ request, pass, guard, dial }: ForwardedRequest, url: URL): Promise<ClientRequest> {
  const { method = 'GET' } = request;
  const { signal } = pass;
  const headers = ['host', url.host, ...endToEnd(request.rawHeaders)];
  if (dial.egressProxy) return dial.ask({ method, path: url.href, headers, signal });
  const socket = await dial.connect(url, { trusted: guard.isTrusted(url, pass.trustedOrigins), signal });
  return httpRequest({
    method,
    path: url.pathname + url.search,
    headers,
    createConnection: () => socket,
    signal,
  });
}

/** Names and values in turn, as they came. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const fields: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!HOP_FIELDS.has(name.toLowerCase())) fields.push(name, value);
  }
  return fields;
}
