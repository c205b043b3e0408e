/*
 * Requests to an upstream, and what its refusals mean. Single fields of a body are replaced without parsing the whole,
 * so that every other byte stays as the client sent it; only the option for system messages parses it. Three kinds of
 * refusal have classes of their own, because the plugin then asks the same upstream in another way: no responses route,
 * no `stream_options`, no such form of vectors. A refusal of a translated request names the fields that the client
 * sent. The check of upstreams reads their lists of models.
 */

import {
  at,
  bearerToken,
  callerFailure,
  checkModelList,
  GatewayError,
  type HttpRequest,
  lacksRoute,
  openaiError,
  type PluginContext,
  replaceFields,
  type StoredResponseAction,
  type StoredResponseCall,
  type TextCall,
  TryFailure,
  taskFailure,
  textFailure,
  type UpstreamCheck,
  type UpstreamNames,
  type UpstreamRefusal,
} from 'mediagate/plugin';
import { modelsOf, type Options, type Upstream } from './options.js';
import { withSystemMessages } from './system-messages.js';

/** A request in the upstream's format. */
export type WireRequest = Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>;

const STORED: Readonly<Record<StoredResponseAction, { method: 'GET' | 'POST' | 'DELETE'; path: string }>> = {
  retrieve: { method: 'GET', path: '' },
  delete: { method: 'DELETE', path: '' },
  cancel: { method: 'POST', path: '/cancel' },
  input_items: { method: 'GET', path: '/input_items' },
};

/** The caller's body as it is, but for the name of the model, and messages of the system where the option says so. */
export function textRequest({ route, task, body, stream }: TextCall, upstream: Upstream): WireRequest {
  return {
    url: upstream.addresses[task ?? route],
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...credentials(upstream),
    },
    body: replaceFields(route === 'chat_completions' ? withSystemMessages(body, upstream.systemMessages) : body, {
      model: upstream.model,
    }),
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

/** Some servers refuse requests without a user agent. Events are not to be gathered until a compressor has enough of them. */
function credentials({ apiKey }: Upstream): Record<string, string> {
  return { 'user-agent': 'mediagate', 'accept-encoding': 'identity', ...bearerToken(apiKey) };
}

/** What a refusal of a request for a stored response means: status 404 says that there is no such response. */
export function storedFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  if (refusal.status === 404)
    return callerFailure(new GatewayError('response_not_found', 'There is no such response.'));
  return textFailure(refusal, upstream, now);
}

/** An upstream refused a request of the responses format, since it only has chats. */
export class NoResponses extends TryFailure {}

/** What a refusal of a response means: {@link NoResponses} if the upstream has no such route. */
export function responsesFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  const failure = textFailure(refusal, upstream, now);
  return lacksRoute(refusal, failure) ? new NoResponses(failure.error, failure.consequence) : failure;
}

/** An upstream refused a chat for its `stream_options`. */
export class NoStreamOptions extends TryFailure {}

/** Whether the upstream refused a request because it does not know `stream_options`. */
export function refusesStreamOptions({ status, json, text }: UpstreamRefusal, { body }: WireRequest): boolean {
  if (status !== 400 && status !== 422) return false;
  const isNamed = (text ?? JSON.stringify(json) ?? '').includes('stream_options');
  return isNamed && body instanceof Uint8Array && withoutStreamOptions({ url: '', method: 'POST', body }).body !== body;
}

export function withoutStreamOptions(request: WireRequest): WireRequest {
  const { body } = request;
  return body instanceof Uint8Array
    ? { ...request, body: replaceFields(body, { stream_options: undefined }) }
    : request;
}

/** An upstream refused the form of vectors that was asked for. */
export class NoSuchForm extends TryFailure {}

const FORM_FIELD = 'encoding_format';

/** What a refusal of embeddings means: {@link NoSuchForm} for the form, which the gateway can convert itself. */
export function vectorsFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  const failure = taskFailure(refusal, upstream, now);
  const { param, message = '' } = openaiError(refusal);
  const isRefused = refusal.status === 400 || refusal.status === 422;
  const isForm = param === FORM_FIELD || /encoding_format|base64/i.test(message);
  return isRefused && isForm ? new NoSuchForm(failure.error, failure.consequence) : failure;
}

/** A request for vectors in the upstream's own form. */
export function withoutForm(call: TextCall): TextCall {
  return { ...call, body: replaceFields(call.body, { [FORM_FIELD]: undefined }) };
}

/** Fields of a chat, and those of a response that they were made of. */
const TRANSLATED_FIELDS: ReadonlyMap<string, string> = new Map([
  ['messages', 'input'],
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['reasoning_effort', 'reasoning.effort'],
  ['response_format', 'text.format'],
  ['verbosity', 'text.verbosity'],
]);

/** What a refusal of a response that was sent as a chat means; it names the field that the client sent. */
export function translatedFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  const [field] = /^\w+/.exec(openaiError(refusal).param ?? '') ?? [''];
  const param = TRANSLATED_FIELDS.get(field);
  if (param === undefined) return textFailure(refusal, upstream, now);
  const json = { error: { ...(at(refusal.json, 'error') as object), param } };
  return textFailure({ ...refusal, json }, upstream, now);
}

/** Asks each upstream that has models for its list of them, all at once. */
export async function checkTextUpstreams(
  context: PluginContext<Options>,
  signal: AbortSignal,
): Promise<UpstreamCheck[]> {
  const { models: configured, upstreams } = context.options;
  const served = modelsOf(context.options);
  const checks = upstreams.map(({ url, apiKey, name }, index) => {
    const member = name ?? `upstreams.${index}`;
    const models = served.flatMap(({ model, upstreams }) => {
      const upstream = upstreams.find((one) => one.member === member);
      return upstream ? [{ id: model.id, upstreamModel: upstream.model }] : [];
    });
    if (models.length === 0) return [];
    const at = `upstreams.${index}`;
    return checkModelList({
      context,
      upstream: member,
      url,
      headers: bearerToken(apiKey),
      models,
      options: {
        url: `${at}.url`,
        key: `${at}.apiKey`,
        model: typeof configured === 'string' ? 'models' : `${at}.model`,
      },
      emptyRequest: '/chat/completions',
      signal,
    });
  });
  return (await Promise.all(checks)).flat();
}
