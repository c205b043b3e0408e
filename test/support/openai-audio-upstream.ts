import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type OpenaiError, openaiError } from './openai-error.js';
import { answerSpeech } from './openai-speech-format.js';
import { answerTranscription } from './openai-transcript-format.js';
import { type OriginServer, startOrigin } from './origin-server.js';
import { readForm, type SentFile } from './sent-form.js';
import { type Delivery, deliver, deliverFault, type VendorFault } from './vendor-delivery.js';

/** One request as the upstream saw it. */
export interface OpenaiAudioRequest {
  path: string;
  headers: Readonly<Record<string, string | undefined>>;
  /** JSON members, or text fields of the form. */
  members: Readonly<Record<string, unknown>>;
  files: readonly SentFile[];
  /** Resolves when its connection is closed before the answer is complete. */
  abandoned: Promise<void>;
}

/** What the upstream does with one request. */
export type OpenaiAudioAnswer =
  /** What was asked for; speech in pieces where they are given a size. */
  | { does: 'work'; pieceBytes?: number; pauseMs?: number }
  /** An error of the vendor's shape. */
  | ({ does: 'error' } & OpenaiError)
  | VendorFault;

export interface OpenaiAudioUpstreamOptions {
  /** Requests without it are answered with 401. Default: none is needed. */
  apiKey?: string;
  /** False refuses `verbose_json`, as the vendor's newer models do. Default true. */
  timed?: boolean;
  /** Sends speech as this, whatever is asked for, as some look-alikes do. */
  onlyFormat?: 'wav';
}

/** A server on loopback that speaks the vendor's format of speech in both directions, faults included. */
export interface OpenaiAudioUpstream extends OriginServer {
  /** To be given as `url` of an upstream. */
  readonly baseUrl: string;
  /** All that were understood, in the order they came. */
  readonly requests: readonly OpenaiAudioRequest[];
  /** From the next request on; a list is used up one by one, and then all goes well again. */
  behave(answers: readonly OpenaiAudioAnswer[] | ((request: OpenaiAudioRequest) => OpenaiAudioAnswer)): void;
  /** Forgets requests and behaviour. */
  reset(): void;
}

const WORK: OpenaiAudioAnswer = { does: 'work' };

export async function startOpenaiAudioUpstream(options: OpenaiAudioUpstreamOptions = {}): Promise<OpenaiAudioUpstream> {
  let requests: OpenaiAudioRequest[] = [];
  let behaviour: Parameters<OpenaiAudioUpstream['behave']>[0] = [];
  let used = 0;

  async function workOn(request: OpenaiAudioRequest): Promise<Delivery> {
    if (options.apiKey !== undefined && request.headers.authorization !== `Bearer ${options.apiKey}`) {
      const message = `Incorrect API key provided: ${request.headers.authorization}.`;
      return openaiError({ status: 401, code: 'invalid_api_key', message });
    }
    const format = { timed: options.timed ?? true, onlyFormat: options.onlyFormat };
    if (request.path === '/v1/audio/transcriptions') return answerTranscription(request, 'transcribe', format);
    if (request.path === '/v1/audio/translations') return answerTranscription(request, 'translate', format);
    if (request.path === '/v1/audio/speech') return answerSpeech(request, format);
    return openaiError({ status: 404, message: `Invalid URL (POST ${request.path})` });
  }

  async function answer(request: OpenaiAudioRequest, response: ServerResponse): Promise<void> {
    const chosen = typeof behaviour === 'function' ? behaviour(request) : (behaviour[used++] ?? WORK);
    if (chosen.does === 'error') return deliver(response, openaiError(chosen));
    const delivery = await workOn(request);
    if (chosen.does !== 'work') return deliverFault(response, chosen, delivery);
    return deliver(response, { ...delivery, ...chosen });
  }

  const origin = await startOrigin((incoming, response) => {
    const abandoned = new Promise<void>((resolve) => {
      response.once('close', () => {
        if (!response.writableFinished) resolve();
      });
    });
    read(incoming)
      .then((content) => {
        const { url: path = '', headers } = incoming;
        const request = { path, headers: headers as OpenaiAudioRequest['headers'], ...content, abandoned };
        requests.push(request);
        return answer(request, response);
      })
      .catch((error: unknown) => {
        // A request that is no request of this format, or a client that left in the middle.
        if (!response.destroyed && !response.headersSent) {
          void deliver(response, openaiError({ status: 400, message: String(error) }));
        }
      });
  });

  return {
    get port() {
      return origin.port;
    },
    get origin() {
      return origin.origin;
    },
    get connections() {
      return origin.connections;
    },
    idle: origin.idle,
    close: origin.close,
    baseUrl: `${origin.origin}/v1`,
    get requests() {
      return requests;
    },
    behave(next) {
      behaviour = next;
      used = 0;
    },
    reset() {
      requests = [];
      behaviour = [];
      used = 0;
    },
  };
}

async function read(request: IncomingMessage): Promise<Pick<OpenaiAudioRequest, 'members' | 'files'>> {
  if ((request.headers['content-type'] ?? '').startsWith('multipart/form-data')) return readForm(request);
  return { members: JSON.parse((await buffer(request)).toString()), files: [] };
}
