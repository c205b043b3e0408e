/** A local server in the format of ElevenLabs. */

import type { ServerResponse } from 'node:http';
import { deliver, deliverFault, type VendorFault } from '../models/vendor-delivery.js';
import { type AudioVendor, type AudioVendorRequest, startAudioVendor } from './audio-vendor.js';
import { type ElevenlabsError, elevenlabsError, issueList } from './elevenlabs-error.js';
import { answerElevenlabs } from './elevenlabs-format.js';

/** One request as the vendor saw it; its path is without the query. */
export interface ElevenlabsRequest extends AudioVendorRequest {
  outputFormat: string | null;
}

/** What the vendor does with one request. */
export type ElevenlabsAnswer =
  | { does: 'work' }
  | ({ does: 'error' } & ElevenlabsError)
  /** The refusal of a schema check, status 422. */
  | { does: 'list'; issues: { loc: (string | number)[]; msg: string }[] }
  | { does: 'text'; status: number; body: string }
  | VendorFault;

export interface ElevenlabsOptions {
  apiKey: string;
  /** Leaves `character-cost` out. Default false. */
  silent?: boolean;
}

/** Speaks the vendor's format of speech, changed voices and effects, faults included. */
export type ElevenlabsUpstream = AudioVendor<ElevenlabsRequest, ElevenlabsAnswer>;

const WORK: ElevenlabsAnswer = { does: 'work' };

export function startElevenlabsUpstream({ apiKey, silent = false }: ElevenlabsOptions): Promise<ElevenlabsUpstream> {
  async function answer(request: ElevenlabsRequest, response: ServerResponse, chosen = WORK): Promise<void> {
    if (chosen.does === 'error') return deliver(response, elevenlabsError(chosen));
    if (chosen.does === 'list') return deliver(response, issueList(chosen.issues));
    if (chosen.does === 'text') {
      return deliver(response, { status: chosen.status, headers: { 'content-type': 'text/html' }, body: chosen.body });
    }
    const delivery =
      request.headers['xi-api-key'] === apiKey
        ? await answerElevenlabs(request, silent)
        : elevenlabsError({ status: 401, code: 'invalid_api_key', form: 'old', message: 'Invalid API key' });
    return chosen.does === 'work' ? deliver(response, delivery) : deliverFault(response, chosen, delivery);
  }

  return startAudioVendor({
    requestOf(sent) {
      const { pathname, searchParams } = new URL(sent.path, 'http://vendor');
      return { ...sent, path: pathname, outputFormat: searchParams.get('output_format') };
    },
    answer,
    refusal: (msg) => issueList([{ loc: ['body'], msg }]),
  });
}
