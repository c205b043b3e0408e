import {
  type HttpRequest,
  replaceFields,
  type StoredResponseAction,
  type StoredResponseCall,
  type TextCall,
} from 'mediagate';
import type { Upstream } from './upstream.js';

/** A request in the upstream's format. */
export type WireRequest = Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>;

const STORED: Readonly<Record<StoredResponseAction, { method: 'GET' | 'POST' | 'DELETE'; path: string }>> = {
  retrieve: { method: 'GET', path: '' },
  delete: { method: 'DELETE', path: '' },
  cancel: { method: 'POST', path: '/cancel' },
  input_items: { method: 'GET', path: '/input_items' },
};

/** The caller's body as it is, but for the name of the model. */
export function textRequest({ route, task, body, stream }: TextCall, upstream: Upstream): WireRequest {
  return {
    url: upstream.addresses[task ?? route],
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...credentials(upstream),
    },
    body: replaceFields(body, { model: upstream.model }),
  };
}

export function storedRequest({ action, responseId, query }: StoredResponseCall, upstream: Upstream): WireRequest {
  const { method, path } = STORED[action];
  const url = `${upstream.addresses.responses}/${encodeURIComponent(responseId)}${path}`;
  return {
    url: query === '' ? url : `${url}?${query}`,
    method,
    headers: { accept: 'application/json, text/event-stream', ...credentials(upstream) },
  };
}

/** Events are not to be gathered until a compressor has enough of them. */
function credentials({ apiKey }: Upstream): Record<string, string> {
  return { 'accept-encoding': 'identity', ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) };
}
