/*
 * Checks whether an upstream can be used, without using a model: its list of models needs the key and names what it
 * has. A server of the OpenAI format without such a list gets an empty request, which it can only refuse. The result
 * names the option that the operator must change, such as an address without `/v1`, a refused key or an unlisted
 * model. Every failure is a result; only the abort reason is thrown. All requests of a check share 4.5 seconds.
 */

import type { Clock, HttpClient, HttpResponse, UpstreamCheck, UpstreamCheckResult } from '../contracts/index.js';
import { asString, at, isGatewayError, isRecord, type JsonRecord } from '../runtime/index.js';
import { TRUST } from './failures.js';

/** Within the 5 seconds of `Contributions.checkUpstreams`, so that each upstream has a result of its own. */
const CHECK_MS = 4_500;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_LISTED = 5;
const DATE = /^\d{4}-?\d{2}-?\d{2}$/;
const SHOWN_NAME = /^[\x21-\x7e]{1,100}$/;
/** A server that has no such path, or not with this method. */
const NO_SUCH_PATH = new Set([404, 405, 501]);

export interface ModelListCheck {
  context: { http: HttpClient; clock: Clock };
  /** Name of the upstream as in the log: `upstreams.0`. */
  upstream: string;
  /** Base address. `/models` below it is a list of objects, or has one as `data`. */
  url: string;
  /** Headers with the key; empty without a key. */
  headers: Readonly<Record<string, string>>;
  /** Public ids, and the upstream's own names. */
  models: readonly { id: string; upstreamModel: string }[];
  /** Paths of the options. Default: `url`, `apiKey` and `model` of the upstream. */
  options?: Partial<Record<'url' | 'key' | 'model', string>>;
  /** Query of the request for the list, such as `?limit=1000`. Default: none. */
  query?: string;
  /** Field with the name of a listed model. Default `id`. */
  nameField?: string;
  /** Whether this refusal of the list is for a valid key, which may only not list models. Default: none is. */
  isLimitedKey?(json: unknown): boolean;
  /**
   * Path of a POST request that a server without a list of models refuses for its missing fields. Default: none, and
   * such a server counts as reachable.
   */
  emptyRequest?: string;
  signal: AbortSignal;
}

/** An answer, or why there was none. */
type Answer = { response: HttpResponse; json: unknown } | { failure: Pick<UpstreamCheck, 'reason' | 'remedy'> };

/** Checks an upstream by its list of models. Throws nothing but the reason of the signal: failures are results. */
export async function checkModelList(check: ModelListCheck): Promise<UpstreamCheck[]> {
  const { context, upstream, headers, models, query = '', nameField = 'id', emptyRequest, signal } = check;
  const { http, clock } = context;
  const options = { url: `${upstream}.url`, key: `${upstream}.apiKey`, model: `${upstream}.model`, ...check.options };
  const url = check.url.replace(/\/+$/, '');
  const end = clock.monotonic() + CHECK_MS;
  const ids = models.map(({ id }) => id);
  const all = (result: UpstreamCheckResult, rest: Omit<UpstreamCheck, 'upstream' | 'models' | 'result'> = {}) => [
    { upstream, models: ids, result, ...rest },
  ];
  const refusedKey = (status: number) =>
    all('refused_key', {
      option: options.key,
      reason:
        Object.keys(headers).length === 0
          ? `It answered with status ${status}: it needs a key.`
          : `It refused the key with status ${status}.`,
    });

  async function ask(address: string, body?: string): Promise<Answer> {
    try {
      const response = await http.request({
        url: address,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          'user-agent': 'mediagate',
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        signal,
        timeoutMs: Math.max(1, end - clock.monotonic()),
        maxBytes: MAX_BYTES,
      });
      return { response, json: jsonOf(response) };
    } catch (error) {
      signal.throwIfAborted();
      return { failure: failureOf(error) };
    }
  }

  const first = await ask(`${url}/models${query}`);
  if ('failure' in first) return all('unreachable', { option: options.url, ...first.failure });
  const listed = namesIn(first.json, nameField);
  const { status } = first.response;
  const unchecked = 'The models were not checked, since';
  if (status === 401 || status === 403) {
    if (!check.isLimitedKey?.(first.json)) return refusedKey(status);
    return all('reachable', { reason: `${unchecked} the key may not list them.` });
  }
  if (status === 429) return all('reachable', { reason: `${unchecked} it limits the rate of requests.` });
  if (status >= 500 && !NO_SUCH_PATH.has(status))
    return all('unreachable', { option: options.url, reason: answered(status, first.json) });
  if (status === 200 && listed) return byModel();
  const isAtVersion = /\/v\d+\w*$/.test(url);
  const versioned = isAtVersion ? undefined : await ask(`${url}/v1/models`);
  if (
    versioned &&
    'response' in versioned &&
    (namesIn(versioned.json, nameField) || versioned.response.status === 401)
  ) {
    const remedy = 'Put /v1 at its end.';
    const reason = 'It answers below /v1, and the address does not end so.';
    return all('wrong_format', { option: options.url, reason, remedy });
  }
  return (await withoutList()) ?? all('wrong_format', { option: options.url, reason: notThisFormat(first) });

  /** A server that does not list its models. */
  async function withoutList(): Promise<UpstreamCheck[] | undefined> {
    if (!NO_SUCH_PATH.has(status)) return undefined;
    const reason = `${unchecked} it has no list of them.`;
    if (emptyRequest === undefined) return all('reachable', { reason });
    const answer = await ask(url + emptyRequest, '{}');
    if ('failure' in answer) return all('unreachable', { option: options.url, ...answer.failure });
    const refused = answer.response.status;
    if (refused === 401 || refused === 403) return refusedKey(refused);
    return refused === 400 || refused === 422 ? all('reachable', { reason }) : undefined;
  }

  function byModel(): UpstreamCheck[] {
    const has = (name: string) =>
      !listed || listed.any || listed.names.has(name) || listed.names.has(`${name}:latest`) || isDated(name);
    // The vendor lists the version with its date, and takes the name without it.
    const isDated = (name: string) =>
      [...(listed?.names ?? [])].some((one) => one.startsWith(`${name}-`) && DATE.test(one.slice(name.length + 1)));
    const there = models.filter(({ upstreamModel }) => has(upstreamModel)).map(({ id }) => id);
    const missing = models.filter(({ upstreamModel }) => !has(upstreamModel));
    const names = [...new Set(missing.map(({ upstreamModel }) => upstreamModel))];
    return [
      ...(there.length > 0 || missing.length === 0 ? [{ upstream, models: there, result: 'reachable' as const }] : []),
      ...(missing.length > 0
        ? [
            {
              upstream,
              models: missing.map(({ id }) => id),
              result: 'unknown_model' as const,
              option: options.model,
              reason: `It does not list ${shownOf(names)}. It lists ${shownOf([...(listed?.names ?? [])])}.`,
            },
          ]
        : []),
    ];
  }
}

/** The names of a list of models; undefined if it is none. */
function namesIn(json: unknown, nameField: string): { names: ReadonlySet<string>; any: boolean } | undefined {
  const list = Array.isArray(json) ? json : at(json, 'data');
  if (!Array.isArray(list)) return undefined;
  const models = list.map((one): JsonRecord => (isRecord(one) ? one : {}));
  const names = models.flatMap((model) => asString(model[nameField]) ?? []);
  if (names.length < list.length) return undefined;
  // A llama.cpp server with one model answers with it to any name.
  const any = models.length === 1 && models[0]?.owned_by === 'llamacpp' && models[0].status === undefined;
  return { names: new Set(names), any };
}

function shownOf(names: readonly string[]): string {
  const shown = names.filter((name) => SHOWN_NAME.test(name)).slice(0, MAX_LISTED);
  const others = names.length - shown.length;
  if (shown.length === 0) return 'no models';
  return shown.join(', ') + (others > 0 ? ` and ${others} more` : '');
}

function answered(status: number, json: unknown): string {
  const words = asString(at(json, 'error', 'message'))
    ?.replace(/[\s\p{Cc}]+/gu, ' ')
    .slice(0, 200);
  return `It answered with status ${status}${words ? `: ${words}` : ''}.`.replace(/\.\.$/, '.');
}

function notThisFormat({ response, json }: Extract<Answer, { response: unknown }>): string {
  const { status, headers } = response;
  if (status >= 300 && status < 400) return `It answered with a redirect (status ${status}), which is not followed.`;
  if (headers['content-type']?.startsWith('text/html')) return 'It answered with an HTML page.';
  return status === 200 ? 'It answered with something else than a list of models.' : answered(status, json);
}

function jsonOf(response: HttpResponse): unknown {
  try {
    return JSON.parse(response.text());
  } catch {
    return undefined;
  }
}

/** Why there was no answer: with the system's code, which names the cause for an operator. */
function failureOf(error: unknown): Pick<UpstreamCheck, 'reason' | 'remedy'> {
  if (!isGatewayError(error)) return { reason: 'The request failed.' };
  if (error.code === 'upstream_refused') return { reason: error.message, remedy: TRUST };
  let code: string | undefined;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(cause.code)) code = cause.code;
  }
  return { reason: code === undefined ? error.message : `${error.message.replace(/\.$/, '')} (${code}).` };
}
