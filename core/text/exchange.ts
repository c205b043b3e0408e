import type { TextReply, Usage } from '../contracts/index.js';
import { GatewayError, isGatewayError, SharedTimer, type Ticking } from '../runtime/index.js';
import { AnswerStream, type BodyReader, PullStream, readWholeAnswer } from './answers.js';
import type { Wording } from './event-rewriter.js';
import type { EventReader } from './events.js';
import type { TextAnswer, TextExchange, TextOutcome } from './requests.js';
import { sampleBytes, type TextSample } from './tokens.js';

/** Failures after which an upstream may have done its work, although it did not answer. */
const GIVEN_UP: ReadonlySet<string> = new Set(['upstream_timeout', 'shutting_down']);
/** An answer that is no stream goes out when all of it is here, so that one that breaks off is a clean error. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
/** Header fields that are the gateway's own to set. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'set-cookie',
  'transfer-encoding',
  'x-request-id',
]);

export interface ExchangeTimes {
  /** Milliseconds of silence after which a stream gets a comment. */
  keepAliveMs: number;
  /** Milliseconds of silence after which nothing more is expected. */
  idleMs: number;
  /** Milliseconds for all of it. */
  totalMs: number;
}

export interface ExchangeOptions {
  times: ExchangeTimes;
  /** Milliseconds until the upstream has to have answered. */
  askMs: number;
  watch: Watch;
  monotonic(): number;
  /** Public model id as JSON text. */
  modelText: Buffer;
  standIn?: string;
  /** Whether a stream was asked for. */
  stream: boolean;
  /** Asks the upstream; the signal also aborts while the body flows. Throws what a caller may be told. */
  ask(signal: AbortSignal): Promise<TextReply>;
  /** What a caller may be told where the body of a reply threw this. */
  failureOf(thrown: unknown, signal: AbortSignal): unknown;
  /** Strikes out of a text of the upstream what no caller may read. */
  hideOptions(text: string): string;
  /** Understands the events of a reply. */
  readerOf(reply: TextReply): EventReader;
  /** Whether it is of the responses route. */
  isResponse: boolean;
  /** Called with the id of a response that is no stream; `open` where it is still to be made. */
  onWhole(id: string, reply: TextReply, open: boolean): void;
  background?: TextExchange['background'];
  /** Called where a stream did not come to its own end, although its caller is still there. */
  onCut(failure: GatewayError): void;
  /** Whether the upstream makes the answer to its end although nobody listens any more: it can be had later. */
  goesOnAlone: boolean;
  /** What was used where no upstream says: with what the model said; `goesOn` where it goes on to speak unseen. Never rejects. */
  estimate(said: TextSample, goesOn: boolean): Promise<Usage | undefined>;
}

/** Sends one request and follows its answer to the end. */
export function startExchange(options: ExchangeOptions): TextExchange {
  return new Exchange(options);
}

/** Every request has one: it has methods rather than functions of its own, and calls rather than promises. */
class Exchange implements TextExchange, Watched, BodyReader {
  place = 0;
  readonly answer: Promise<TextAnswer>;
  readonly ended: Promise<TextOutcome>;
  readonly background: TextExchange['background'];
  readonly #options: ExchangeOptions;
  readonly #flow = new AbortController();
  readonly #startedAt: number;
  readonly #received: Uint8Array[] = [];
  #receivedBytes = 0;
  #resolve: (answer: TextAnswer) => void = () => {};
  #reject: (failure: GatewayError) => void = () => {};
  #end: (outcome: TextOutcome) => void = () => {};
  #reply: TextReply | undefined;
  #body: PullStream | undefined;
  #isStreaming = false;
  #isOver = false;
  #hasLeft = false;
  /** Whether all of an answer that is no stream is here. */
  #isRead = false;
  /** Whether the upstream only told why it does not answer. */
  #isRefused = false;
  /** Monotonic milliseconds of the last bytes, and of the last that the caller was sent. */
  #heardAt: number;
  #spokeAt: number;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.background = options.background;
    this.#startedAt = options.monotonic();
    this.#heardAt = this.#startedAt;
    this.#spokeAt = this.#startedAt;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    options.watch.add(this);
    options.ask(this.#flow.signal).then(
      (reply) => this.#open(reply),
      (error: unknown) => this.fail(error),
    );
  }

  tick(now: number): void {
    const { times, askMs } = this.#options;
    const body = this.#body;
    if (now - this.#startedAt >= times.totalMs) {
      this.giveUp(late(`The answer did not end within ${times.totalMs / 1000} s.`));
    } else if (!body) {
      if (now - this.#startedAt >= askMs) this.giveUp(late(`No answer within ${askMs / 1000} s.`));
    } else if (body.isAwaited) {
      if (now - this.#heardAt >= times.idleMs) this.giveUp(late('The model has fallen silent.'));
      else if (this.#isStreaming && now - this.#spokeAt >= times.keepAliveMs) {
        this.#spokeAt = now;
        body.tellSilence();
      }
    }
  }

  giveUp(error: GatewayError): void {
    if (this.#isOver) return;
    this.#flow.abort(error);
    if (this.#body) this.#body.fail(error);
    else this.fail(error);
  }

  leave(): void {
    if (this.#isOver) return;
    this.#hasLeft = true;
    this.giveUp(new GatewayError('bad_request', 'The client closed the connection.'));
  }

  #open(reply: TextReply): void {
    // Given up meanwhile; what it was sent with has been aborted.
    if (this.#isOver) return;
    const { failureOf } = this.#options;
    const body = new PullStream(reply.body, (thrown) => failureOf(thrown, this.#flow.signal));
    this.#reply = reply;
    this.#body = body;
    this.#hear();
    if (!isStream(reply, this.#options.stream)) body.ask(this);
    else {
      try {
        this.#openStream(reply, body);
      } catch (error) {
        this.fail(error);
      }
    }
  }

  /** Bytes of an answer that is no stream. */
  take(chunk: Uint8Array): void {
    this.#hear();
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > MAX_WHOLE_BYTES) {
      this.fail(new GatewayError('upstream_error', 'The answer of the model is too long.'));
      return;
    }
    this.#received.push(chunk);
    this.#body?.ask(this);
  }

  noticeSilence(): void {
    this.#body?.ask(this);
  }

  finish(): void {
    if (this.#isOver || !this.#reply) return;
    try {
      this.#readWhole(this.#reply, asOne(this.#received));
    } catch (error) {
      this.fail(error);
    }
  }

  /** There is no answer, or no whole one. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#stop();
    this.#body?.close();
    const failure = this.#failureOf(error);
    // Whoever still answers, answers nobody.
    if (!this.#flow.signal.aborted) this.#flow.abort(failure);
    // An upstream that was given up may have done its work; one that refused has not.
    const hasBegun = this.#reply !== undefined && !this.#isRefused;
    const outcome = { complete: false, failure };
    if (hasBegun || this.#hasLeft || GIVEN_UP.has(failure.code))
      this.#endEstimated(sampleBytes(this.#received), this.#options.goesOnAlone, outcome);
    else this.#end(outcome);
    this.#reject(failure);
  }

  #failureOf(error: unknown): GatewayError {
    if (!isGatewayError(error)) return brokenOff(error);
    // Of a body that was begun: what became of the connection is told by words that say what became of the answer.
    return this.#body && !this.#isRead && error.code === 'upstream_error' ? brokenOff(error) : error;
  }

  #openStream(reply: TextReply, body: PullStream): void {
    this.#isStreaming = true;
    const reader = this.#options.readerOf(reply);
    const events = new AnswerStream({
      body,
      reader,
      wording: this.#wordingOf(reply),
      hasLeft: () => this.#hasLeft,
      onBytes: () => this.#hear(),
      onEnd: (failure) => {
        this.#stop();
        if (failure && !this.#hasLeft) this.#options.onCut(failure);
        if (failure && !this.#flow.signal.aborted) this.#flow.abort(failure);
        this.#endStream(reader, failure);
      },
    });
    this.#resolve(this.#answerOf(reply, events));
  }

  #endStream(reader: EventReader, failure: GatewayError | undefined): void {
    const { responseId } = reader;
    const rest = { complete: !failure, ...(responseId !== undefined && { responseId }), ...(failure && { failure }) };
    const usage = reader.usage();
    if (usage) {
      this.#end(failure ? { usage, ...rest } : { usage, ...rest, final: true });
      return;
    }
    const said = reader.said();
    // An upstream that only told why it does not answer has used nothing.
    if (reader.failed && said.text === '') this.#end(rest);
    else this.#endEstimated(said, failure !== undefined && this.#options.goesOnAlone, rest);
  }

  #readWhole(reply: TextReply, bytes: Buffer): void {
    this.#isRead = true;
    const whole = readWholeAnswer(bytes, this.#wordingOf(reply), this.#options.isResponse);
    const { id, usage, refusal } = whole;
    if (refusal) {
      this.#isRefused = true;
      throw refusal;
    }
    this.#stop();
    if (id !== undefined) this.#options.onWhole(id, reply, whole.open);
    const rest: TextOutcome = id === undefined ? { complete: true } : { complete: true, responseId: id };
    if (whole.ended) rest.final = true;
    if (usage) {
      rest.usage = usage;
      this.#end(rest);
    } else this.#endEstimated(whole.said(), whole.open, rest);
    this.#resolve(this.#answerOf(reply, whole.body));
  }

  #endEstimated(said: TextSample, goesOn: boolean, rest: TextOutcome): void {
    this.#options.estimate(said, goesOn).then((usage) => this.#end(usage ? { usage, ...rest } : rest));
  }

  #wordingOf({ plainWords = (words) => words }: TextReply): Wording {
    const { modelText, hideOptions } = this.#options;
    return { modelText, plainWords: (words) => hideOptions(plainWords(words)) };
  }

  #answerOf({ status, headers }: TextReply, body: TextAnswer['body']): TextAnswer {
    const kept: Record<string, string> = {};
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined && !OWN_HEADERS.has(name)) kept[name] = value;
    }
    return { status, headers: kept, standIn: this.#options.standIn, body };
  }

  #hear(): void {
    this.#heardAt = this.#options.monotonic();
    this.#spokeAt = this.#heardAt;
  }

  #stop(): void {
    this.#isOver = true;
    this.#options.watch.delete(this);
  }
}

/** What an upstream sends although a stream was asked for, or not, is told by what it calls it. */
function isStream({ headers }: TextReply, asked: boolean): boolean {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('text/event-stream')) return true;
  return asked && !/\b(json|html|xml)\b/.test(type);
}

function asOne(chunks: readonly Uint8Array[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(chunks);
}

function late(message: string): GatewayError {
  return new GatewayError('upstream_timeout', message);
}

function brokenOff(cause: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model broke off.', { cause });
}

/** An exchange that looks at the time. */
export interface Watched extends Ticking {
  /** Nothing more is to come of it. */
  giveUp(error: GatewayError): void;
}

export interface Watch {
  /** Ticks until it is deleted. */
  add(watched: Watched): void;
  /** Of no effect where it was deleted before. */
  delete(watched: Watched): void;
  giveUpAll(error: GatewayError): void;
}

/** @param tickMs milliseconds between ticks, and so how late one may be. */
export function createWatch(tickMs: number, monotonic: () => number): Watch {
  const all = new SharedTimer<Watched>(tickMs, monotonic);
  return {
    add(watched) {
      all.add(watched);
      all.start();
    },
    delete: (watched) => all.delete(watched),
    giveUpAll: (error) => all.visit((watched) => watched.giveUp(error)),
  };
}
