import type Router from '@koa/router';
import { type AudioRouteOptions, workOnAudio } from '../audio-work.js';
import { clientSignal } from '../client-signal.js';
import { keyOf } from '../middleware/auth.js';
import { markModel } from '../middleware/error-shapes.js';
import { useSoundForm } from '../middleware/form.js';
import type { RequestContext, RequestState } from '../middleware/request-state.js';
import { missing } from '../wire/form-fields.js';
import { readIdempotencyKey } from '../wire/idempotency-key.js';
import { encodeTranscript } from '../wire/transcription-answer.js';
import { decodeTranscription } from '../wire/transcription-request.js';

const ROUTES = [
  { path: '/v1/audio/transcriptions', operation: 'transcribe' },
  { path: '/v1/audio/translations', operation: 'translate' },
] as const;

/** What is said in a sound, in its language or in English. */
export function addTranscriptionRoutes(router: Router<RequestState>, options: AudioRouteOptions): void {
  const { gateway, auth, uploads, audioMaxBytes } = options;

  for (const { path, operation } of ROUTES) {
    router.post(path, markModel, auth({ grant: 'audio' }), async (context: RequestContext) => {
      const { req: request, res: response } = context;
      const key = readIdempotencyKey(request.headers);
      const form = {
        audio: gateway.audio,
        soundNames: ['file'],
        maxBytes: audioMaxBytes,
        budget: uploads,
        keyId: keyOf(context).id,
        signal: clientSignal(response),
        fingerprinted: key !== undefined,
      };
      await useSoundForm(
        request,
        response,
        form,
        async ({ fields, sound = missing('file', 'a sound'), fingerprint }) => {
          const wish = decodeTranscription(fields, operation);
          await workOnAudio(context, options, {
            route: path,
            key,
            fingerprint,
            model: wish.call.model,
            operation,
            ignored: wish.ignored,
            ask: (signal) => gateway.audio[operation]({ ...wish.call, sound, signal }),
            encode(heard) {
              const { contentType, text } = encodeTranscript(heard, wish, operation);
              return { contentType, body: Buffer.from(text) };
            },
          });
        },
      );
    });
  }
}
