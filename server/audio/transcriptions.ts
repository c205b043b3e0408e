import type Router from '@koa/router';
import type { RequestContext, RequestState } from '../http/index.js';
import { markModel } from '../http/index.js';
import { useUpload } from './audio-upload.js';
import { type AudioRouteOptions, workOnAudio } from './audio-work.js';
import { encodeTranscript } from './transcription-answer.js';
import { decodeTranscription } from './transcription-request.js';

const ROUTES = [
  { path: '/v1/audio/transcriptions', operation: 'transcribe' },
  { path: '/v1/audio/translations', operation: 'translate' },
] as const;

/** What is said in a sound, in its language or in English. */
export function addTranscriptionRoutes(router: Router<RequestState>, options: AudioRouteOptions): void {
  const { gateway, auth } = options;

  for (const { path, operation } of ROUTES) {
    router.post(path, markModel, auth({ grant: 'audio' }), async (context: RequestContext) => {
      await useUpload(context, options, ['file'], async ({ fields, sound, ...keyed }) => {
        const wish = decodeTranscription(fields, operation);
        await workOnAudio(context, options, {
          ...keyed,
          route: path,
          model: wish.call.model,
          operation,
          ignored: wish.ignored,
          ask: (signal) => gateway.audio[operation]({ ...wish.call, sound, signal }),
          encode(heard) {
            const { contentType, text } = encodeTranscript(heard, wish, operation);
            return { contentType, body: Buffer.from(text) };
          },
        });
      });
    });
  }
}
