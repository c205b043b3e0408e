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

/** The names that an upstream lists. */
interface ListedModels {
  names: ReadonlySet<string>;
  /** Whether it answers to any name. */
  any: boolean;
}

const UNCHECKED = 'The models were not checked, since';

/** Checks an upstream by its list of models. Throws nothing but the reason of the signal: failures are results. */
export function checkModelList(check: ModelListCheck): Promise<UpstreamCheck[]> {
  return new ListCheck(check).run();
}

/** One check, whose requests share a deadline. */
class ListCheck {
  readonly #check: ModelListCheck;
  readonly #url: string;
  readonly #options: Record<'url' | 'key' | 'model', string>;
  readonly #end: number;

  constructor(check: ModelListCheck) {
    const { upstream, context } = check;
    this.#check = check;
    this.#url = check.url.replace(/\/+$/, '');
    this.#options = {
      url: `${upstream}.url`,
      key: `${upstream}.apiKey`,
      model: `${upstream}.model`,
      ...check.options,
    };
    this.#end = context.clock.monotonic() + CHECK_MS;
  }

  async run(): Promise<UpstreamCheck[]> {
    const { query = '', nameField = 'id', isLimitedKey } = this.#check;
    const first = await this.#ask(`${this.#url}/models${query}`);
    if ('failure' in first) return this.#unreachable(first.failure);
    const { status } = first.response;
    if (status === 401 || status === 403) {
      if (!isLimitedKey?.(first.json)) return this.#refusedKey(status);
      return this.#all('reachable', { reason: `${UNCHECKED} the key may not list them.` });
    }
    if (status === 429) return this.#all('reachable', { reason: `${UNCHECKED} it limits the rate of requests.` });
    const hasNoList = NO_SUCH_PATH.has(status);
    if (status >= 500 && !hasNoList) return this.#unreachable({ reason: answered(status, first.json) });
    const listed = namesIn(first.json, nameField);
    if (status === 200 && listed) return this.#byModel(listed);
    if (await this.#answersAtVersion(nameField)) {
      const reason = 'It answers below /v1, and the address does not end so.';
      return this.#wrongFormat({ reason, remedy: 'Put /v1 at its end.' });
    }
    const unlisted = hasNoList ? await this.#withoutList() : undefined;
    return unlisted ?? this.#wrongFormat({ reason: notThisFormat(first) });
  }

  async #ask(url: string, body?: string): Promise<Answer> {
    const { context, headers, signal } = this.#check;
    try {
      const response = await context.http.request({
        url,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          'user-agent': 'mediagate',
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        signal,
        timeoutMs: Math.max(1, this.#end - context.clock.monotonic()),
        maxBytes: MAX_BYTES,
      });
      return { response, json: jsonOf(response) };
    } catch (error) {
      signal.throwIfAborted();
      return { failure: failureOf(error) };
    }
  }

  /** One result for all models. */
  #all(result: UpstreamCheckResult, rest: Omit<UpstreamCheck, 'upstream' | 'models' | 'result'>): UpstreamCheck[] {
    const { upstream, models } = this.#check;
    return [{ upstream, models: models.map(({ id }) => id), result, ...rest }];
  }

  #unreachable(why: Pick<UpstreamCheck, 'reason' | 'remedy'>): UpstreamCheck[] {
    return this.#all('unreachable', { option: this.#options.url, ...why });
  }

  #wrongFormat(why: Pick<UpstreamCheck, 'reason' | 'remedy'>): UpstreamCheck[] {
    return this.#all('wrong_format', { option: this.#options.url, ...why });
  }

  #refusedKey(status: number): UpstreamCheck[] {
    const isMissing = Object.keys(this.#check.headers).length === 0;
    const reason = isMissing
      ? `It answered with status ${status}: it needs a key.`
      : `It refused the key with status ${status}.`;
    return this.#all('refused_key', { option: this.#options.key, reason });
  }

  /** Whether the address only lacks its version. */
  async #answersAtVersion(nameField: string): Promise<boolean> {
    if (/\/v\d+\w*$/.test(this.#url)) return false;
    const answer = await this.#ask(`${this.#url}/v1/models`);
    if ('failure' in answer) return false;
    return namesIn(answer.json, nameField) !== undefined || answer.response.status === 401;
  }

  /** A server that does not list its models. */
  async #withoutList(): Promise<UpstreamCheck[] | undefined> {
    const { emptyRequest } = this.#check;
    const reason = `${UNCHECKED} it has no list of them.`;
    if (emptyRequest === undefined) return this.#all('reachable', { reason });
    const answer = await this.#ask(this.#url + emptyRequest, '{}');
    if ('failure' in answer) return this.#unreachable(answer.failure);
    const { status } = answer.response;
    if (status === 401 || status === 403) return this.#refusedKey(status);
    return status === 400 || status === 422 ? this.#all('reachable', { reason }) : undefined;
  }

  #byModel(listed: ListedModels): UpstreamCheck[] {
    const { upstream, models } = this.#check;
    const there = models.filter(({ upstreamModel }) => isListed(upstreamModel, listed)).map(({ id }) => id);
    const missing = models.filter(({ upstreamModel }) => !isListed(upstreamModel, listed));
    const names = [...new Set(missing.map(({ upstreamModel }) => upstreamModel))];
    const checks: UpstreamCheck[] = [];
    if (there.length > 0 || missing.length === 0) checks.push({ upstream, models: there, result: 'reachable' });
    if (missing.length > 0) {
      checks.push({
        upstream,
        models: missing.map(({ id }) => id),
        result: 'unknown_model',
        option: this.#options.model,
        reason: `It does not list ${shownOf(names)}. It lists ${shownOf([...listed.names])}.`,
      });
    }
    return checks;
  }
}

function isListed(name: string, { names, any }: ListedModels): boolean {
  if (any || names.has(name) || names.has(`${name}:latest`)) return true;
  // The vendor lists the version with its date, and takes the name without it.
  return [...names].some((one) => one.startsWith(`${name}-`) && DATE.test(one.slice(name.length + 1)));
}

/** The names of a list of models; undefined if it is none. */
function namesIn(json: unknown, nameField: string): ListedModels | undefined {
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
