import type Router from '@koa/router';
import type { Sounding } from 'mediagate';
import type { RequestContext, RequestState } from '../http/index.js';
import { EVENTS, markModel, readJson } from '../http/index.js';
import type { OutgoingAnswer } from '../idempotency/index.js';
import { readIdempotencyKey } from '../idempotency/index.js';
import { holderOf, keyOf } from '../keys/index.js';
import { useUpload } from './audio-upload.js';
import { type AudioRouteOptions, workOnAudio } from './audio-work.js';
import { decodeSound, decodeVoiceChange } from './sound-request.js';
import { encodeSpeechEvents } from './speech-events.js';
import { decodeSpeech, MAX_SPEECH_BODY_BYTES } from './speech-request.js';

const SPEECH = '/v1/audio/speech';
const EFFECTS = '/v1/audio/sound-effects';
const CHANGER = '/v1/audio/voice-changer';

/** Sounds that models make: speech, a voice in the place of another, effects. */
export function addSpeechRoutes(router: Router<RequestState>, options: AudioRouteOptions): void {
  const { gateway, auth, bodies } = options;
  const authenticate = auth({ grant: 'audio' });
  const readBody = (context: RequestContext, key: string | undefined) =>
    readJson(context.req, context.res, {
      maxBytes: MAX_SPEECH_BODY_BYTES,
      budget: bodies,
      owner: holderOf(keyOf(context)),
      fingerprinted: key !== undefined,
    });

  router.post(SPEECH, markModel, authenticate, async (context: RequestContext) => {
    const key = readIdempotencyKey(context.req.headers);
    const { value, fingerprint } = await readBody(context, key);
    const { call, events, ignored } = decodeSpeech(value);
    await workOnAudio(context, options, {
      route: SPEECH,
      key,
      fingerprint,
      model: call.model,
      operation: 'speak',
      input: call.input,
      ignored,
      ask: (signal) => gateway.audio.speak({ ...call, signal }),
      encode: events ? (sounding) => encodeEvents(context, sounding) : encodeSound,
    });
  });

  router.post(EFFECTS, markModel, authenticate, async (context: RequestContext) => {
    const key = readIdempotencyKey(context.req.headers);
    const { value, fingerprint } = await readBody(context, key);
    const call = decodeSound(value);
    await workOnAudio(context, options, {
      route: EFFECTS,
      key,
      fingerprint,
      model: call.model,
      operation: 'generateSound',
      ask: (signal) => gateway.audio.generateSound({ ...call, signal }),
      encode: encodeSound,
    });
  });

  router.post(CHANGER, markModel, authenticate, async (context: RequestContext) => {
    await useUpload(context, options, ['audio', 'file'], async ({ fields, sound, ...keyed }) => {
      const call = decodeVoiceChange(fields);
      await workOnAudio(context, options, {
        ...keyed,
        route: CHANGER,
        model: call.model,
        operation: 'changeVoice',
        ask: (signal) => gateway.audio.changeVoice({ ...call, sound, signal }),
        encode: encodeSound,
      });
    });
  });
}

function encodeSound({ contentType, body }: Sounding): OutgoingAnswer {
  return { contentType, body };
}

function encodeEvents({ state }: RequestContext, sounding: Sounding): OutgoingAnswer {
  return { contentType: EVENTS, body: encodeSpeechEvents(sounding, state), ended: sounding.ended };
}
