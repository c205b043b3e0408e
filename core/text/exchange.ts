import type { Usage } from '../contracts/media.js';
import type { TextReply } from '../contracts/text-provider.js';
import { GatewayError, isGatewayError } from '../errors.js';
import { streamAnswer } from './answer-stream.js';
import type { EventReader } from './event-reader.js';
import { END, paceBody } from './paced-body.js';
import type { TextAnswer, TextExchange, TextOutcome } from './requests.js';
import { sampleBytes, type TextSample } from './text-sample.js';
import { readWholeAnswer } from './whole-answer.js';

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
  /** Aborts when the caller leaves. */
  signal: AbortSignal;
  times: ExchangeTimes;
  /** Public model id as JSON text. */
  modelText: Buffer;
  standIn?: string;
  /** Whether a stream was asked for. */
  stream: boolean;
  /** Asks the upstream; the signal also aborts while the body flows. */
  ask(signal: AbortSignal): Promise<TextReply>;
  /** Understands the events of a reply. */
  readerOf(reply: TextReply): EventReader;
  /** Called with the `id` of an answer that is no stream. */
  onWhole(id: string, reply: TextReply): void;
  /** Called where a stream did not come to its own end, although its caller is still there. */
  onCut(failure: GatewayError): void;
  /** What was used where no upstream says: with what the model said, `open` where it goes on to speak unseen. Never rejects. */
  estimate(said: TextSample | 'open'): Promise<Usage | undefined>;
}

/** Sends one request and follows its answer to the end. */
export function startExchange(options: ExchangeOptions): TextExchange {
  const { signal, times, modelText, standIn } = options;
  const flow = new AbortController();
  const leave = () => flow.abort(signal.reason);
  const { promise: ended, resolve: end } = Promise.withResolvers<TextOutcome>();
  const timer = setTimeout(() => {
    flow.abort(new GatewayError('upstream_timeout', `The answer did not end within ${times.totalMs / 1000} s.`));
  }, times.totalMs);
  const received: Uint8Array[] = [];
  let reply: TextReply | undefined;
  signal.addEventListener('abort', leave, { once: true });

  function stop(): void {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }

  function endEstimated(said: TextSample | 'open', rest: Omit<TextOutcome, 'usage'>): void {
    options.estimate(said).then((usage) => end(usage ? { usage, ...rest } : rest));
  }

  async function open(): Promise<TextAnswer> {
    try {
      signal.throwIfAborted();
      reply = await options.ask(flow.signal);
      return isStream(reply, options.stream) ? openStream(reply) : await readWhole(reply);
    } catch (error) {
      stop();
      const failure = isGatewayError(error) ? error : brokenOff(error);
      // Whoever still answers, answers nobody.
      if (!flow.signal.aborted) flow.abort(failure);
      // An upstream that was given up may have done its work; one that refused has not.
      const maybeUsed = reply !== undefined || signal.aborted || failure.code === 'upstream_timeout';
      if (maybeUsed) endEstimated(sampleBytes(received), { complete: false, failure });
      else end({ complete: false, failure });
      throw failure;
    }
  }

  function openStream(opened: TextReply): TextAnswer {
    const reader = options.readerOf(opened);
    const { keepAliveMs, idleMs } = times;
    const body = paceBody(opened.body, { silenceMs: keepAliveMs, idleMs, signal: flow.signal });
    const onEnd = (failure: GatewayError | undefined) => {
      stop();
      if (failure && !signal.aborted) options.onCut(failure);
      if (failure && !flow.signal.aborted) flow.abort(failure);
      endStream(reader, failure);
    };
    return { ...headOf(opened), body: streamAnswer({ body, reader, modelText, gone: signal, onEnd }) };
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

  async function readWhole(opened: TextReply): Promise<TextAnswer> {
    const body = paceBody(opened.body, { idleMs: times.idleMs, signal: flow.signal });
    let bytes = 0;
    try {
      for (let came = await body.next(); came !== END; came = await body.next()) {
        if (typeof came === 'symbol') continue;
        bytes += came.length;
        if (bytes > MAX_WHOLE_BYTES) throw new GatewayError('upstream_error', 'The answer of the model is too long.');
        received.push(came);
      }
    } catch (error) {
      throw isGatewayError(error) && error.code !== 'upstream_error' ? error : brokenOff(error);
    } finally {
      body.close();
    }
    const whole = readWholeAnswer(asOne(received), modelText);
    stop();
    const { id, usage } = whole;
    if (id !== undefined) options.onWhole(id, opened);
    const rest = { complete: true, ...(id !== undefined && { responseId: id }) };
    if (usage) end({ usage, ...rest });
    else endEstimated(whole.open ? 'open' : whole.said(), rest);
    return { ...headOf(opened), body: whole.body };
  }

  function headOf({ status, headers }: TextReply): Omit<TextAnswer, 'body'> {
    const kept: Record<string, string> = {};
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined && !OWN_HEADERS.has(name)) kept[name] = value;
    }
    return { status, headers: kept, ...(standIn !== undefined && { standIn }) };
  }

  return { answer: open(), ended };
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

function brokenOff(cause: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model broke off.', { cause });
}
