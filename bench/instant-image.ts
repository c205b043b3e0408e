import { definePlugin } from 'mediagate';
import { sampleImage } from '../test/support/sample-images.js';

/** A model that does nothing: the picture is there already, and larger than what is asked for. */
export const instantPicture = () => sampleImage({ width: 1536, height: 1024, format: 'png', seed: 1 });

export default definePlugin({
  name: 'instant_image',
  apiVersion: 1,
  summary: 'A picture that is there already.',
  provides: ['image'],
  setup: () => ({
    imageProviders: [
      { models: ['gen-img-2'], generate: async () => ({ bytes: await instantPicture(), contentType: 'image/png' }) },
    ],
  }),
});
