/** A local server in OpenAI's audio format. */

import type { ServerResponse } from 'node:http';
import { type OpenaiError, openaiError } from '../models/openai-error.js';
import { type Delivery, deliver, deliverFault, type VendorFault } from '../models/vendor-delivery.js';
import { type AudioVendor, type AudioVendorRequest, startAudioVendor } from './audio-vendor.js';
import { answerSpeech } from './openai-speech-format.js';
import { answerTranscription } from './openai-transcript-format.js';

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

/** Speaks the vendor's format of speech in both directions, faults included. */
export type OpenaiAudioUpstream = AudioVendor<AudioVendorRequest, OpenaiAudioAnswer>;

const WORK: OpenaiAudioAnswer = { does: 'work' };

export function startOpenaiAudioUpstream(options: OpenaiAudioUpstreamOptions = {}): Promise<OpenaiAudioUpstream> {
  async function workOn(request: AudioVendorRequest): Promise<Delivery> {
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

  async function answer(request: AudioVendorRequest, response: ServerResponse, chosen = WORK): Promise<void> {
    if (chosen.does === 'error') return deliver(response, openaiError(chosen));
    const delivery = await workOn(request);
    if (chosen.does !== 'work') return deliverFault(response, chosen, delivery);
    return deliver(response, { ...delivery, ...chosen });
  }

  return startAudioVendor({
    requestOf: (sent) => sent,
    answer,
    refusal: (message) => openaiError({ status: 400, message }),
  });
}
