/*
 * Runs one text request from the call of the upstream to the end of its answer. Each exchange ends exactly once:
 * `answer` settles, and `ended` always resolves with the usage, reported or estimated. Until the provider replies, the
 * client gets nothing and a fallback can answer; after the reply none can, and a stream sends its status. One shared
 * timer, not a timer per request, aborts the upstream at the first limit that passes: no reply within the `timeoutMs`
 * of the provider entry (once for the model and once for each of its fallbacks), 5 minutes without a byte, or an hour
 * in all. While a slow client pauses a stream, silence is not checked; the hour counts on. A stream that waits gets a
 * keep-alive comment after each 15 s of silence, also before its first byte. A failure after the reply is reported as a
 * broken answer. Every request has an exchange, so it is a class with callbacks instead of closures and promises.
 */

import type { TextReply, Usage } from '../contracts/index.js';
import { cleanRequestId, type InstancePolicy, type PluginHost } from '../plugins/index.js';
import { ArrivedBody, GatewayError, isGatewayError, SharedTimer, type Ticking } from '../runtime/index.js';
import { NO_TEXT, type TextSample } from './counting/samples.js';
import type { BackgroundStart, TextAnswer, TextExchange, TextOutcome } from './requests.js';
import { AnswerStream, type BodyReader, PullStream } from './streams/answer-stream.js';
import type { EventReader } from './streams/events.js';
import type { Wording } from './streams/stream-failures.js';
import type { VectorForm } from './vectors.js';
import { AnswerBytes, readLargeAnswer, readWholeAnswer, type WholeAnswer } from './whole/whole-answers.js';

/** Failures after which an upstream may have done its work without answering. */
const GIVEN_UP: ReadonlySet<string> = new Set(['upstream_timeout', 'shutting_down']);
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
/** Header fields that only the gateway sets. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'set-cookie',
  'transfer-encoding',
  'x-request-id',
  'x-upstream-request-id',
]);

interface ExchangeTimes {
  /** Milliseconds of silence after which a stream gets a comment. */
  keepAliveMs: number;
  /** Milliseconds of silence after which the upstream is aborted. */
  idleMs: number;
  /** Milliseconds for the whole exchange. */
  totalMs: number;
}

/** An exchange with deadlines. */
export interface Watched extends Ticking {
  /** Stops it. */
  giveUp(error: GatewayError): void;
}

/** What all exchanges share. */
export interface ExchangeServices {
  host: Pick<PluginHost, 'watchAborted'>;
  times: ExchangeTimes;
  watch: SharedTimer<Watched>;
  monotonic(): number;
}

/** What an exchange is about: a request to a model, or a response that an upstream stores. */
export interface ExchangeSubject {
  /** The plugin entry that is asked, and the terms of the one that answers. */
  readonly entry: string;
  readonly terms: InstancePolicy;
  /** Milliseconds until the upstream must have answered. */
  readonly askMs: number;
  /** Id of the model; the caller may have asked for it by another name. */
  readonly model: string;
  /** The name of the model that the caller has asked for, as JSON text. */
  readonly modelText: Buffer;
  /** Whether a stream was requested. */
  readonly stream: boolean;
  /** Whether it belongs to the responses route. */
  readonly isResponse: boolean;
  /** Form of the vectors in a whole answer. Default: as the upstream sends them. */
  readonly vectors?: VectorForm | undefined;
  /** An answer that is no stream is sent when it is complete, so that a broken one is a clean error. Default 32 MiB. */
  readonly maxWholeBytes?: number | undefined;
  readonly background?: TextExchange['background'];
  /** Whether the upstream completes the answer without a listener: it can be fetched later. */
  readonly continuesAlone: boolean;
  /** Calls the upstream; the signal also aborts while the body streams. Throws errors that callers may read. */
  ask(signal: AbortSignal): Promise<TextReply>;
  /** Id of the model that answered in place of the one that was asked for. */
  answeredBy(): string | undefined;
  /** Creates the event reader of a reply. */
  readerOf(reply: TextReply): EventReader;
  /** Called with a response that is no stream. */
  onWhole(response: WholeResponse, reply: TextReply): void;
  /** Called if a stream did not complete although its caller is still connected. */
  onCut(failure: GatewayError, upstreamRequestId: string | undefined): void;
  /** Estimates the usage if the upstream reports none, from the model's text. Never rejects. */
  estimate(sample: TextSample, answer: EstimatedAnswer): Promise<Usage | undefined>;
}

export interface WholeResponse extends Pick<WholeAnswer, 'itemIds' | 'open'> {
  id: string;
}

export interface EstimatedAnswer {
  /** Whether the upstream continues it without a listener. */
  continues: boolean;
  /** Whether it completed. Default false. */
  complete?: boolean;
  /** What the upstream reported so far. Default: nothing. */
  reported?: Usage | undefined;
  /** Whether the upstream began to answer. */
  hasAnswered: boolean;
  /** Time since the request was sent. */
  seconds: number;
}

/** Sends one request and follows its answer to the end. */
export class Exchange implements TextExchange, Watched, BodyReader {
  listIndex = 0;
  readonly answer: Promise<TextAnswer>;
  readonly ended: Promise<TextOutcome>;
  readonly background?: Promise<BackgroundStart | undefined>;
  failure: GatewayError | undefined;
  isBroken = false;
  readonly #subject: ExchangeSubject;
  readonly #services: ExchangeServices;
  readonly #flow = new AbortController();
  readonly #startedAt: number;
  /** Undefined for a stream. */
  #received: AnswerBytes | undefined;
  #resolve: (answer: TextAnswer) => void = () => {};
  #reject: (failure: GatewayError) => void = () => {};
  #end: (outcome: TextOutcome) => void = () => {};
  readonly #asking: Promise<TextReply>;
  #reply: TextReply | undefined;
  #body: PullStream | undefined;
  #isStreaming = false;
  #isOver = false;
  #hasLeft = false;
  /** Whether this process aborted the upstream, which may have done its work. */
  #isAborted = false;
  /** Whether an answer that is no stream is complete. */
  #isRead = false;
  /** Whether the upstream only answered with an error. */
  #isRefused = false;
  /** Monotonic milliseconds of the last bytes received, and of the last bytes sent to the caller. */
  #receivedAt: number;
  #spokeAt: number;

  constructor(subject: ExchangeSubject, services: ExchangeServices) {
    this.#subject = subject;
    this.#services = services;
    if (subject.background) this.background = subject.background;
    this.#startedAt = services.monotonic();
    this.#receivedAt = this.#startedAt;
    this.#spokeAt = this.#startedAt;
    this.ended = new Promise((resolve) => {
      this.#end = (outcome) => {
        const model = subject.answeredBy();
        resolve(model === undefined ? outcome : { ...outcome, model });
      };
    });
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    services.watch.add(this);
    services.watch.start();
    this.#asking = subject.ask(this.#flow.signal);
    this.#asking.then(
      (reply) => this.#open(reply),
      (error: unknown) => this.fail(error),
    );
  }

  tick(now: number): void {
    const { times } = this.#services;
    const { askMs } = this.#subject;
    const body = this.#body;
    if (now - this.#startedAt >= times.totalMs) {
      this.giveUp(late(`The answer did not end within ${times.totalMs / 1000} s.`));
    } else if (!body) {
      if (now - this.#startedAt >= askMs) this.giveUp(late(`No answer within ${askMs / 1000} s.`));
    } else if (body.isAwaited) {
      if (now - this.#receivedAt >= times.idleMs) this.giveUp(late('The model stopped sending.'));
      else if (this.#isStreaming && now - this.#spokeAt >= times.keepAliveMs) {
        this.#spokeAt = now;
        body.sendKeepAlive();
      }
    }
  }

  giveUp(error: GatewayError): void {
    if (this.#isOver) return;
    this.#isAborted = true;
    this.#flow.abort(error);
    if (this.#body) this.#body.fail(error);
    else {
      this.#services.host.watchAborted(this.#subject.entry, this.#asking);
      this.fail(error);
    }
  }

  leave(): void {
    if (this.#isOver) return;
    this.#hasLeft = true;
    this.giveUp(new GatewayError('bad_request', 'The client closed the connection.'));
  }

  abort(error: GatewayError): void {
    this.giveUp(error);
  }

  #open(reply: TextReply): void {
    // The exchange was abandoned meanwhile and its upstream request aborted.
    if (this.#isOver) return;
    this.#reply = reply;
    this.#receive();
    const received = isStream(reply, this.#subject.stream) ? undefined : new AnswerBytes();
    this.#received = received;
    if (received && reply.body instanceof ArrivedBody) {
      received.add(reply.body.bytes);
      this.finish();
      return;
    }
    const body = new PullStream(reply.body, (thrown) => bodyFailure(this.#subject.terms, thrown, this.#flow.signal));
    this.#body = body;
    if (received) body.ask(this);
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
    const received = this.#received;
    if (!received) return;
    this.#receive();
    if (received.length + chunk.length > (this.#subject.maxWholeBytes ?? MAX_WHOLE_BYTES)) {
      this.fail(new GatewayError('upstream_error', 'The answer of the model is too long.'));
      return;
    }
    received.add(chunk);
    this.#body?.ask(this);
  }

  noticeSilence(): void {
    this.#body?.ask(this);
  }

  finish(): void {
    const reply = this.#reply;
    const received = this.#received;
    if (this.#isOver || !reply || !received) return;
    const { isResponse } = this.#subject;
    const wording = this.#wordingOf(reply);
    this.#isRead = true;
    if (received.isLarge) {
      readLargeAnswer(received, { ...wording, isResponse, isSampled: true })
        .then((whole) => this.#endWhole(reply, whole))
        .catch((error: unknown) => this.fail(error));
      return;
    }
    try {
      this.#endWhole(reply, readWholeAnswer(received.whole(), wording, isResponse));
    } catch (error) {
      this.fail(error);
    }
  }

  /** There is no answer, or an incomplete one. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#stop();
    this.#body?.close();
    const failure = this.#failureOf(error);
    this.failure = failure;
    // A late answer is ignored.
    if (!this.#flow.signal.aborted) this.#flow.abort(failure);
    // An abandoned upstream may have done its work; one that refused has not.
    const hasBegun = this.#reply !== undefined && !this.#isRefused;
    const outcome = { complete: false, failure };
    if (hasBegun || this.#isAborted || GIVEN_UP.has(failure.code))
      this.#endEstimated(
        this.#received?.sample(this.#subject.isResponse) ?? NO_TEXT,
        this.#subject.continuesAlone,
        outcome,
      );
    else this.#end(outcome);
    this.#reject(failure);
  }

  #failureOf(error: unknown): GatewayError {
    if (!isGatewayError(error)) return brokenOff(error);
    // For a body that has started, the state of the connection is reported as an error of the answer.
    if (this.#body && !this.#isRead && error.code === 'upstream_error') return brokenOff(error);
    const words = error.upstream?.message;
    const renamed = words && this.#renamed(words);
    return renamed === words ? error : withUpstreamWords(error, renamed);
  }

  #openStream(reply: TextReply, body: PullStream): void {
    this.#isStreaming = true;
    const reader = this.#subject.readerOf(reply);
    const events = new AnswerStream({
      body,
      reader,
      wording: this.#wordingOf(reply),
      hasLeft: () => this.#hasLeft,
      onBytes: () => this.#receive(),
      onEnd: (failure) => {
        this.#stop();
        this.failure = failure;
        this.isBroken = reader.failed || (failure !== undefined && !this.#hasLeft);
        if (failure && !this.#hasLeft) this.#subject.onCut(failure, this.#upstreamIdOf(reply));
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
    if (usage && !failure) {
      this.#end({ usage, ...rest, final: true });
      return;
    }
    const sample = reader.sample();
    const reported = usage ?? reader.firstUsage?.();
    // An upstream that only answered with an error has used nothing.
    if (reader.failed && sample.text === '' && !reported) this.#end(rest);
    else this.#endEstimated(sample, failure !== undefined && this.#subject.continuesAlone, rest, reported);
  }

  #endWhole(reply: TextReply, whole: WholeAnswer): void {
    // Its caller has left while a thread read it.
    if (this.#isOver) return;
    const { id, itemIds, open, usage, refusal } = whole;
    if (refusal) {
      this.#isRefused = true;
      throw refusal;
    }
    this.#stop();
    if (id !== undefined) this.#subject.onWhole({ id, itemIds, open }, reply);
    const rest: TextOutcome = id === undefined ? { complete: true } : { complete: true, responseId: id };
    if (whole.ended) rest.final = true;
    if (usage) {
      rest.usage = usage;
      this.#end(rest);
    } else this.#endEstimated(whole.sample(), open, rest);
    this.#resolve(this.#answerOf(reply, whole.body));
  }

  #endEstimated(sample: TextSample, continues: boolean, rest: TextOutcome, reported?: Usage): void {
    const { complete } = rest;
    this.#subject
      .estimate(sample, {
        continues,
        complete,
        reported,
        hasAnswered: this.#reply !== undefined,
        seconds: (this.#services.monotonic() - this.#startedAt) / 1000,
      })
      .then((usage) => this.#end(usage ? { usage, ...rest } : rest));
  }

  #wordingOf({ plainWords = (words) => words }: TextReply): Wording {
    const { modelText, vectors } = this.#subject;
    return { modelText, plainWords: (words) => this.#renamed(plainWords(words)), ...(vectors && { vectors }) };
  }

  /** Words of a failure, with the name of the model that the caller has asked for. */
  #renamed(words: string): string {
    const subject = this.#subject;
    const asked = String(JSON.parse(subject.modelText.toString()));
    return subject.terms.hideOptions(words.replaceAll(subject.answeredBy() ?? subject.model, () => asked));
  }

  #upstreamIdOf({ upstreamRequestId: id }: TextReply): string | undefined {
    return cleanRequestId(id, this.#subject.terms.hideOptions);
  }

  #answerOf(reply: TextReply, body: TextAnswer['body']): TextAnswer {
    const { status, headers } = reply;
    const passed: Record<string, string> = {};
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined && !OWN_HEADERS.has(name)) passed[name] = value;
    }
    return {
      status,
      headers: passed,
      standIn: this.#subject.terms.standIn,
      upstreamRequestId: this.#upstreamIdOf(reply),
      ...(reply.ignored && { ignored: reply.ignored }),
      vendorHeaders: reply.vendorHeaders,
      tries: reply.tries,
      upstream: reply.upstream,
      body,
    };
  }

  #receive(): void {
    this.#receivedAt = this.#services.monotonic();
    this.#spokeAt = this.#receivedAt;
  }

  #stop(): void {
    this.#isOver = true;
    this.#services.watch.delete(this);
  }
}

/** Whether the upstream sends a stream is decided by its content type, not by the request. */
function isStream({ headers }: TextReply, asked: boolean): boolean {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('text/event-stream')) return true;
  return asked && !WHOLE_TYPES.test(type);
}

function withUpstreamWords(error: GatewayError, message: string | undefined): GatewayError {
  const upstream = error.upstream && { ...error.upstream, ...(message !== undefined && { message }) };
  return new GatewayError(error.code, error.message, { ...error, cause: error.cause, upstream });
}

function late(message: string): GatewayError {
  return new GatewayError('upstream_timeout', message);
}

function brokenOff(cause: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model was interrupted.', { cause });
}

/** Types of what comes whole where a stream was asked for. */
export const WHOLE_TYPES = /\b(json|html|xml)\b/;

/** A broken connection is no plugin fault: only errors that claim to be the gateway's are checked. */
function bodyFailure(terms: InstancePolicy, thrown: unknown, signal: AbortSignal): unknown {
  return isGatewayError(thrown) ? terms.failureOf('text', thrown, signal) : thrown;
}
