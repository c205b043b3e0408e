import type { Usage } from '../contracts/media.js';
import type { TextReply } from '../contracts/text-provider.js';
import { GatewayError, isGatewayError } from '../errors.js';
import { AnswerStream } from './answer-stream.js';
import type { EventReader } from './event-reader.js';
import { PacedBody } from './paced-body.js';
import type { TextAnswer, TextExchange, TextOutcome } from './requests.js';
import { sampleBytes, type TextSample } from './text-sample.js';
import type { Wording } from './told-failure.js';
import type { Watch, Watched } from './watch.js';
import { readWholeAnswer } from './whole-answer.js';
import { readWholeBody } from './whole-body.js';

/** Failures after which an upstream may have done its work, although it did not answer. */
const GIVEN_UP: ReadonlySet<string> = new Set(['upstream_timeout', 'shutting_down']);
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
  /** Understands the events of a reply. */
  readerOf(reply: TextReply): EventReader;
  /** Whether it is of the responses route. */
  isResponse: boolean;
  /** Called with the id of a response that is no stream. */
  onWhole(id: string, reply: TextReply): void;
  /** Called where a stream did not come to its own end, although its caller is still there. */
  onCut(failure: GatewayError): void;
  /** What was used where no upstream says: with what the model said, `open` where it goes on to speak unseen. Never rejects. */
  estimate(said: TextSample | 'open'): Promise<Usage | undefined>;
}

/** Sends one request and follows its answer to the end. */
export function startExchange(options: ExchangeOptions): TextExchange {
  const { times, watch, monotonic, modelText } = options;
  const flow = new AbortController();
  const { promise: ended, resolve: end } = Promise.withResolvers<TextOutcome>();
  const startedAt = monotonic();
  const received: Uint8Array[] = [];
  let reply: TextReply | undefined;
  let body: PacedBody | undefined;
  let isStreaming = false;
  let isOver = false;
  let hasLeft = false;
  /** Whether the upstream only told why it does not answer. */
  let isRefused = false;
  /** Whoever waits for the upstream to answer. */
  let stopAsking: ((error: GatewayError) => void) | undefined;
  /** Monotonic milliseconds of the last bytes, and of the last that the caller was sent. */
  let heardAt = startedAt;
  let spokeAt = startedAt;

  const watched: Watched = {
    place: 0,
    giveUp,
    tick(now: number): void {
      if (now - startedAt >= times.totalMs) giveUp(late(`The answer did not end within ${times.totalMs / 1000} s.`));
      else if (!body) {
        if (now - startedAt >= options.askMs) giveUp(late(`No answer within ${options.askMs / 1000} s.`));
      } else if (body.isAwaited) {
        if (now - heardAt >= times.idleMs) giveUp(late('The model has fallen silent.'));
        else if (isStreaming && now - spokeAt >= times.keepAliveMs) {
          spokeAt = now;
          body.tellSilence();
        }
      }
    },
  };
  watch.add(watched);

  function giveUp(error: GatewayError): void {
    if (isOver) return;
    flow.abort(error);
    stopAsking?.(error);
    body?.fail(error);
  }

  function hear(): void {
    heardAt = monotonic();
    spokeAt = heardAt;
  }

  function stop(): void {
    isOver = true;
    watch.delete(watched);
  }

  function endEstimated(said: TextSample | 'open', rest: Omit<TextOutcome, 'usage'>): void {
    options.estimate(said).then((usage) => end(usage ? { usage, ...rest } : rest));
  }

  function ask(): Promise<TextReply> {
    return new Promise((resolve, reject) => {
      stopAsking = reject;
      options.ask(flow.signal).then(resolve, reject);
    });
  }

  async function open(): Promise<TextAnswer> {
    try {
      reply = await ask();
      body = new PacedBody(reply.body);
      hear();
      if (isStream(reply, options.stream)) return openStream(reply, body);
      return await readWhole(reply, body);
    } catch (error) {
      stop();
      body?.close();
      const failure = isGatewayError(error) ? error : brokenOff(error);
      // Whoever still answers, answers nobody.
      if (!flow.signal.aborted) flow.abort(failure);
      // An upstream that was given up may have done its work; one that refused has not.
      const maybeUsed = (reply !== undefined && !isRefused) || hasLeft || GIVEN_UP.has(failure.code);
      if (maybeUsed) endEstimated(sampleBytes(received), { complete: false, failure });
      else end({ complete: false, failure });
      throw failure;
    }
  }

  function openStream(opened: TextReply, paced: PacedBody): TextAnswer {
    isStreaming = true;
    const reader = options.readerOf(opened);
    const events = new AnswerStream({
      body: paced,
      reader,
      wording: wordingOf(opened),
      hasLeft: () => hasLeft,
      onBytes: hear,
      onEnd(failure) {
        stop();
        if (failure && !hasLeft) options.onCut(failure);
        if (failure && !flow.signal.aborted) flow.abort(failure);
        endStream(reader, failure);
      },
    });
    return { ...headOf(opened), body: events };
  }

  function endStream(reader: EventReader, failure: GatewayError | undefined): void {
    const { responseId } = reader;
    const rest = { complete: !failure, ...(responseId !== undefined && { responseId }), ...(failure && { failure }) };
    const usage = reader.usage();
    if (usage) {
      end({ usage, ...rest });
      return;
    }
    const said = reader.said();
    // An upstream that only told why it does not answer has used nothing.
    if (reader.failed && said.text === '') end(rest);
    else endEstimated(said, rest);
  }

  async function readWhole(opened: TextReply, paced: PacedBody): Promise<TextAnswer> {
    const whole = readWholeAnswer(await receive(paced), wordingOf(opened), options.isResponse);
    stop();
    const { id, usage, refusal } = whole;
    if (refusal) {
      isRefused = true;
      throw refusal;
    }
    if (id !== undefined) options.onWhole(id, opened);
    const rest = { complete: true, ...(id !== undefined && { responseId: id }) };
    if (usage) end({ usage, ...rest });
    else endEstimated(whole.open ? 'open' : whole.said(), rest);
    return { ...headOf(opened), body: whole.body };
  }

  function wordingOf({ plainWords = (words) => words }: TextReply): Wording {
    return { modelText, plainWords };
  }

  async function receive(paced: PacedBody): Promise<Buffer> {
    try {
      return await readWholeBody({ body: paced, received, onBytes: hear });
    } catch (error) {
      throw isGatewayError(error) && error.code !== 'upstream_error' ? error : brokenOff(error);
    }
  }

  function headOf({ status, headers }: TextReply): Omit<TextAnswer, 'body'> {
    const kept: Record<string, string> = {};
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined && !OWN_HEADERS.has(name)) kept[name] = value;
    }
    return { status, headers: kept, standIn: options.standIn };
  }

  return {
    answer: open(),
    ended,
    leave() {
      if (isOver) return;
      hasLeft = true;
      giveUp(new GatewayError('bad_request', 'The client closed the connection.'));
    },
  };
}

/** What an upstream sends although a stream was asked for, or not, is told by what it calls it. */
function isStream({ headers }: TextReply, asked: boolean): boolean {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('text/event-stream')) return true;
  return asked && !/\b(json|html|xml)\b/.test(type);
}

function late(message: string): GatewayError {
  return new GatewayError('upstream_timeout', message);
}

function brokenOff(cause: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model broke off.', { cause });
}
