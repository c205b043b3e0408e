/** A platform whose items are spoken for six seconds: their sound is at SOUND_ORIGIN. */

import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';

export const SECONDS = 6;

export default invented({
  audio: true,
  mediaHosts: ['127.0.0.1'],
  async extract({ link }) {
    const plain = inventedExtraction(link.id, { audio: true });
    if ('product' in plain.data) throw new Error('the invented platform has no products');
    return { ...plain, data: { ...plain.data, common: { ...plain.data.common, duration_seconds: SECONDS } } };
  },
  resolveAudio: async ({ link }) => ({ url: `${process.env.SOUND_ORIGIN}/${link.id}` }),
});
