import type Router from '@koa/router';
import type { Sounding, Usage } from 'mediagate';
import { type AudioRouteOptions, admitAudio, nameIgnored } from '../audio-work.js';
import { clientSignal } from '../client-signal.js';
import { keyOf } from '../middleware/auth.js';
import { readJsonBody } from '../middleware/body.js';
import { useSoundForm } from '../middleware/form.js';
import type { RequestContext, RequestState } from '../middleware/request-state.js';
import { streamAnswer } from '../stream-answer.js';
import { missing } from '../wire/form-fields.js';
import { decodeSound, decodeVoiceChange } from '../wire/sound-request.js';
import { encodeSpeechEvents } from '../wire/speech-events.js';
import { decodeSpeech, MAX_SPEECH_BODY_BYTES } from '../wire/speech-request.js';

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

  async function send(context: RequestContext, sounding: Sounding, gone: AbortSignal, events = false): Promise<Usage> {
    nameIgnored(context, sounding.ignored);
    const answer = events
      ? { body: encodeSpeechEvents(sounding, context.state.requestId), contentType: 'text/event-stream; charset=utf-8' }
      : sounding;
    await streamAnswer(context, { body: answer.body, contentType: answer.contentType, gone });
    return (await sounding.ended).usage;
  }

  router.post('/v1/audio/speech', authenticate, async (context: RequestContext) => {
    const gone = clientSignal(context.res);
    const { call, events } = decodeSpeech(await readBody(context));
    await admitAudio(context, options, { model: call.model, operation: 'speak' }, async () =>
      send(context, await gateway.audio.speak({ ...call, signal: gone }), gone, events),
    );
  });

  router.post('/v1/audio/sound-effects', authenticate, async (context: RequestContext) => {
    const gone = clientSignal(context.res);
    const call = decodeSound(await readBody(context));
    await admitAudio(context, options, { model: call.model, operation: 'generateSound' }, async () =>
      send(context, await gateway.audio.generateSound({ ...call, signal: gone }), gone),
    );
  });

  router.post('/v1/audio/voice-changer', authenticate, async (context: RequestContext) => {
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
      await admitAudio(context, options, { model: call.model, operation: 'changeVoice' }, async () =>
        send(context, await gateway.audio.changeVoice({ ...call, sound, signal: gone }), gone),
      );
    });
  });
}
