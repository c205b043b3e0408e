/*
 * Responses that upstreams store: fetched, cancelled or deleted at the upstream that made them, and only for their
 * owner. Their usage was counted when they were made. Of a background response it is counted from what is fetched, by
 * polls (`background.ts`) or for a client, and once more before it is deleted.
 */

import type {
  BackgroundResponse,
  StoredResponse,
  StoredResponseAction,
  TextProvider,
  TextReply,
  Usage,
} from '../contracts/index.js';
import type { DueWork } from '../database/index.js';
import { runAsEntry } from '../observability/index.js';
import type { InstancePolicy, Registry } from '../plugins/index.js';
import { GatewayError } from '../runtime/index.js';
import { correctionOf, startBackgroundPolls } from './background.js';
import type { TextSample } from './counting/samples.js';
import { Exchange, type ExchangeSubject, type WholeResponse } from './exchange.js';
import type { StoredTextRequest, TextExchange } from './requests.js';
import { checkReply, type TextServices } from './sent-request.js';
import type { EventReader } from './streams/events.js';
import { ResponseEvents } from './streams/response-events.js';

export interface StoredTextsOptions extends TextServices {
  registry: Registry;
  /** Milliseconds between polls of background responses, growing for each of them. */
  pollMs?: number;
}

export class StoredTexts {
  readonly #options: StoredTextsOptions;
  #polls: DueWork<BackgroundResponse> | undefined;

  constructor(options: StoredTextsOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `response_not_found` if there is none, or it belongs to another owner. */
  async fetch({ action, responseId, owner, query, requestId }: StoredTextRequest): Promise<TextExchange> {
    const { responses, background } = this.#options;
    const row = await responses?.find(responseId, owner);
    const follows = row !== undefined && action !== 'input_items' && (await background?.isOpen(responseId, owner));
    const asked = row && { ...row, action, query, requestId };
    if (asked && follows && action === 'delete') await this.#readLast(asked);
    const exchange = asked && this.#ask(asked, follows === true && action !== 'delete');
    if (!exchange) throw new GatewayError('response_not_found', 'There is no such response.');
    return exchange;
  }

  /** Starts polling background responses. */
  start(): void {
    const { background, logger, pollMs } = this.#options;
    if (!background) return;
    const ask = (response: BackgroundResponse) =>
      this.#ask({ ...response, action: 'retrieve', query: '', requestId: response.id }, true);
    this.#polls = startBackgroundPolls({ background, ask, logger, ...(pollMs !== undefined && { pollMs }) });
  }

  async stop(): Promise<void> {
    await this.#polls?.close();
  }

  /** Reads the usage of a response that the caller is about to delete, as far as it is known. */
  async #readLast(response: StoredAsked): Promise<void> {
    const exchange = this.#ask({ ...response, action: 'retrieve', query: '' }, true);
    await exchange?.answer.catch(() => undefined);
    await exchange?.ended;
    await this.#options.background?.flushInTime();
  }

  /** @param follows Whether the reported usage is to be counted. */
  #ask(response: StoredAsked, follows: boolean): TextExchange | undefined {
    const { registry, background, exchanges } = this.#options;
    const { action, id: responseId, owner, upstream } = response;
    const found = registry.textProvider(registry.resolve(response.model));
    if (!found?.contribution.stored) return undefined;
    const { entry, contribution, model } = found;
    const fetch = new StoredFetch(this.#options, response, { entry, contribution, model: model.id, follows });
    const exchange = new Exchange(fetch, exchanges);
    if (follows) {
      exchange.ended.then(({ usage, final }) => {
        // An upstream that was just aborted may not have the final usage yet.
        const isLast = action === 'cancel' && usage === undefined ? false : final;
        background?.correct(correctionOf({ responseId, owner, upstream }, { usage, final: isLast }));
      });
    }
    return exchange;
  }
}

/** A stored response that is fetched from its upstream. */
interface StoredAsked extends Pick<StoredResponse, 'id' | 'owner' | 'model' | 'upstream'> {
  action: StoredResponseAction;
  query: string;
  requestId: string;
}

interface FetchFrom {
  entry: string;
  contribution: TextProvider;
  model: string;
  follows: boolean;
}

class StoredFetch implements ExchangeSubject {
  readonly entry: string;
  readonly terms: InstancePolicy;
  readonly model: string;
  readonly modelText: Buffer;
  readonly askMs: number;
  readonly stream = false;
  readonly isResponse = true;
  readonly continuesAlone = false;
  readonly #services: TextServices;
  readonly #asked: StoredAsked;
  readonly #from: FetchFrom;

  constructor(services: TextServices, asked: StoredAsked, from: FetchFrom) {
    this.#services = services;
    this.#asked = asked;
    this.#from = from;
    this.entry = from.entry;
    this.terms = services.host.policy(from.entry);
    this.model = from.model;
    this.modelText = Buffer.from(JSON.stringify(asked.model));
    this.askMs = this.terms.timeoutMs;
  }

  async ask(signal: AbortSignal): Promise<TextReply> {
    const { action, id: responseId, owner, upstream, query } = this.#asked;
    const { entry, contribution, model } = this.#from;
    try {
      const reply = await runAsEntry(entry, () =>
        contribution.stored?.({ action, model, responseId, upstream, query, signal }),
      );
      if (!reply) throw new Error('a provider lost a method');
      if (action === 'delete') await this.#services.responses?.forget(responseId, owner);
      return checkReply(reply);
    } catch (error) {
      throw this.terms.failureOf('text', error, signal);
    }
  }

  readerOf(): EventReader {
    return new ResponseEvents({
      model: this.#asked.model,
      now: () => this.#services.clock.now(),
      resumed: this.#asked.id,
      onResponseId: () => {},
      onItemId: (id) => this.#rememberItem(id),
    });
  }

  onWhole({ itemIds }: WholeResponse): void {
    for (const id of itemIds) this.#rememberItem(id);
  }

  /** The client may fetch it again. */
  onCut(): void {}

  answeredBy(): undefined {}

  async estimate(sample: TextSample): Promise<Usage | undefined> {
    if (!this.#from.follows || sample.text === '') return undefined;
    return { outputTokens: await this.#services.tokens.count(sample), estimated: true };
  }

  #rememberItem(id: string): void {
    const { responses, clock } = this.#services;
    responses?.rememberItem?.({ id, owner: this.#asked.owner, createdAt: clock.now() });
  }
}
