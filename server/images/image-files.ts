import type Router from '@koa/router';
import type { Clock, Gateway } from 'mediagate';
import type { ParamsContext, RequestState } from '../http/index.js';
import { sendFile } from '../http/index.js';

export interface ImageFileRoutes {
  gateway: Gateway;
  clock: Clock;
}

/** Finished images: public by their unguessable names, and free. */
export function addImageFileRoutes(router: Router<RequestState>, { gateway, clock }: ImageFileRoutes): void {
  router.get('/v1/images/files/:name', async (context: ParamsContext) => {
    const { name = '' } = context.params;
    const image = await gateway.images.file(name);
    const lifetimeMs = (image.file.expiresAt?.getTime() ?? 0) - clock.now();
    const maxAgeSeconds = Math.max(0, Math.floor(lifetimeMs / 1000));
    await sendFile(context, image, { downloadName: name, maxAgeSeconds, shown: true });
  });
}
