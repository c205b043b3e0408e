import type Router from '@koa/router';
import type { Sounding } from 'mediagate';
import { type AudioRouteOptions, workOnAudio } from '../audio-work.js';
import { clientSignal } from '../client-signal.js';
import { sendEvents, sendStream } from '../event-stream.js';
import { keyOf } from '../middleware/auth.js';
import { readJsonBody } from '../middleware/body.js';
import { markModel } from '../middleware/error-shapes.js';
import { useSoundForm } from '../middleware/form.js';
import type { RequestContext, RequestState } from '../middleware/request-state.js';
import { missing } from '../wire/form-fields.js';
import { decodeSound, decodeVoiceChange } from '../wire/sound-request.js';
import { encodeSpeechEvents } from '../wire/speech-events.js';
import { decodeSpeech, MAX_SPEECH_BODY_BYTES } from '../wire/speech-request.js';

const SPEECH = '/v1/audio/speech';
const EFFECTS = '/v1/audio/sound-effects';
const CHANGER = '/v1/audio/voice-changer';

/** Sounds that models make: speech, a voice in the place of another, effects. */
export function addSpeechRoutes(router: Router<RequestState>, options: AudioRouteOptions): void {
  const { gateway, auth, bodies, uploads, audioMaxBytes } = options;
  const authenticate = auth({ grant: 'audio' });
  const readBody = (context: RequestContext) =>
    readJsonBody(context.req, context.res, {
      maxBytes: MAX_SPEECH_BODY_BYTES,
      budget: bodies,
      keyId: keyOf(context).id,
    });

  router.post(SPEECH, markModel, authenticate, async (context: RequestContext) => {
    const gone = clientSignal(context.res);
    const { call, events, ignored } = decodeSpeech(await readBody(context));
    await workOnAudio(context, options, {
      route: SPEECH,
      model: call.model,
      operation: 'speak',
      input: call.input,
      ignored,
      ask: () => gateway.audio.speak({ ...call, signal: gone }),
      send: (sounding) => send(context, sounding, events),
    });
  });

  router.post(EFFECTS, markModel, authenticate, async (context: RequestContext) => {
    const gone = clientSignal(context.res);
    const call = decodeSound(await readBody(context));
    await workOnAudio(context, options, {
      route: EFFECTS,
      model: call.model,
      operation: 'generateSound',
      ask: () => gateway.audio.generateSound({ ...call, signal: gone }),
      send: (sounding) => send(context, sounding, false),
    });
  });

  router.post(CHANGER, markModel, authenticate, async (context: RequestContext) => {
    const { req: request, res: response } = context;
    const gone = clientSignal(response);
    const form = {
      audio: gateway.audio,
      soundNames: ['audio', 'file'],
      maxBytes: audioMaxBytes,
      budget: uploads,
      keyId: keyOf(context).id,
      signal: gone,
    };
    await useSoundForm(request, response, form, async ({ fields, sound = missing('audio', 'a sound') }) => {
      const call = decodeVoiceChange(fields);
      await workOnAudio(context, options, {
        route: CHANGER,
        model: call.model,
        operation: 'changeVoice',
        ask: () => gateway.audio.changeVoice({ ...call, sound, signal: gone }),
        send: (sounding) => send(context, sounding, false),
      });
    });
  });
}

/** Sends a sound while it is made. One that breaks off says so in an event, or by a connection that is cut. */
async function send(context: RequestContext, sounding: Sounding, events: boolean): Promise<void> {
  const { res: response, state } = context;
  if (events) {
    await sendEvents(context, { status: 200, headers: {} }, encodeSpeechEvents(sounding, state));
    const { failure } = await sounding.ended;
    if (failure) state.errorCode = failure.code;
    return;
  }
  try {
    await sendStream(context, { status: 200, headers: { 'content-type': sounding.contentType } }, sounding.body);
  } catch (error) {
    response.destroy();
    throw error;
  }
}
