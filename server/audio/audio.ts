import type Router from '@koa/router';
import type { Clock, Gateway } from 'mediagate';
import type { ParamsContext, RequestState } from '../http/index.js';
import { clientSignal, markLinkData, sendFile, sendGrowing } from '../http/index.js';

export interface AudioRoutes {
  gateway: Gateway;
  clock: Clock;
}

/** What players send before they know anything about a file; it asks for all of it. */
const WHOLE = 'bytes=0-';
const AUDIO_TYPE = 'audio/mpeg';

/**
 * Hosted MP3 files: public by their unguessable names, and free. The first GET makes the file and gets it while it is
 * being made; a range has to wait for the whole; HEAD makes nothing.
 */
export function addAudioRoutes(router: Router<RequestState>, { gateway, clock }: AudioRoutes): void {
  router.get('/v1/extract/audio/:name.mp3', markLinkData, async (context: ParamsContext) => {
    const { req: request, res: response, params, method } = context;
    const { range = WHOLE } = request.headers;
    const make = method === 'HEAD' ? 'never' : range === WHOLE ? 'following' : 'whole';
    const audio = await gateway.audioFile({ name: params.name ?? '', make, signal: clientSignal(response) });

    const { downloadName, expiresAt } = audio;
    const terms = { downloadName, maxAgeSeconds: Math.max(0, Math.floor((expiresAt - clock.now()) / 1000)) };
    if (audio.kind === 'stored') return sendFile(context, audio, terms);
    if (audio.kind === 'growing') return sendGrowing(context, AUDIO_TYPE, audio.body, terms);
    // HEAD of what is not made: its length is not known.
    context.status = 200;
    response.setHeader('Content-Type', AUDIO_TYPE);
  });
}
