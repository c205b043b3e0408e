import { type HttpStream, type PluginContext, readRefusal, type UpstreamNames, type UpstreamRefusal } from 'mediagate';
import type { Options, Upstream } from './upstream.js';
import type { WireRequest } from './wire.js';

/** One request to one upstream. */
export interface Exchange {
  context: PluginContext<Options>;
  upstream: Upstream;
  /** Public name of the model. */
  model: string;
  signal: AbortSignal;
  /** Monotonic milliseconds by which it has to be done, or to flow. */
  end: number;
}

export function modelName({ context, upstream, model }: Pick<Exchange, 'context' | 'upstream' | 'model'>): string {
  const known = context.options.models.find(({ id }) => id === model);
  return upstream.model ?? known?.upstreamModel ?? model;
}

/** What is only ours and the upstream's, and has no place in what a caller reads. */
export function namesOf(exchange: Exchange): UpstreamNames {
  const { url, apiKey } = exchange.upstream;
  return { url, ...(apiKey !== undefined && { apiKey }), model: modelName(exchange), publicModel: exchange.model };
}

/** The upstream's answer: a body where it is 200, and what it says where it is not. */
export async function send(
  { context, upstream, signal, end }: Exchange,
  { path, contentType, body }: WireRequest,
  limits: { maxBytes: number; idleMs?: number },
): Promise<{ answer: HttpStream } | { refusal: UpstreamRefusal }> {
  const answer = await context.http.stream({
    url: upstream.url.replace(/\/+$/, '') + path,
    method: 'POST',
    headers: {
      'content-type': contentType,
      ...(upstream.apiKey !== undefined && { authorization: `Bearer ${upstream.apiKey}` }),
    },
    body,
    signal,
    timeoutMs: Math.max(1, end - context.clock.monotonic()),
    ...limits,
  });
  return answer.status === 200 ? { answer } : { refusal: await readRefusal(answer, context.clock) };
}
