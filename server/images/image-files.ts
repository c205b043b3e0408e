/*
 * Serves finished images. They are public by names that cannot be guessed, cost nothing, and are cached until the file
 * expires.
 */

import { defineRoute, type Route, type ServerContext, sendFile } from '../http/index.js';
import { IMAGE_ROUTE } from './image-request.js';
import { nameMock } from './images.js';

/** Finished images: public by their unguessable names, and free. */
export function imageFileRoutes({ gateway, clock }: Pick<ServerContext, 'gateway' | 'clock'>): Route[] {
  return [
    defineRoute({
      ...IMAGE_ROUTE,
      grant: 'none',
      method: 'GET',
      path: '/v1/images/files/:name',
      endpoint: 'imageFile',
      parameter: 'filename',
      params: { name: 'Name of the file.' },
      summary: 'Download an image',
      description: 'The file of a finished image. The link is public, and its name cannot be guessed.',
      headers: { Range: 'Bytes of it.' },
      answers: {
        200: { description: 'The file: PNG, JPEG or WebP.', type: 'image/*' },
        206: { description: 'A part of it.', type: 'image/*' },
      },
      errors: ['file_not_found', 'file_expired'],
      async handler(context) {
        const { name = '' } = context.params;
        const image = await gateway.images.file(name);
        nameMock(context, image);
        const lifetimeMs = (image.file.expiresAt?.getTime() ?? 0) - clock.now();
        const maxAgeSeconds = Math.max(0, Math.floor(lifetimeMs / 1000));
        await sendFile(context, image, { downloadName: name, maxAgeSeconds, isInline: true });
      },
    }),
  ];
}
