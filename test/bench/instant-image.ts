/** An image plugin that returns a stored image after a set time. */

import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { definePlugin, GatewayError } from 'mediagate';
import { Type } from 'mediagate/plugin';
import { sampleImage } from '../support/images/sample-images.js';

const OptionsSchema = Type.Object({
  /** Milliseconds that the model takes, and spends waiting. */
  takesMs: Type.Integer({ minimum: 0, default: 0 }),
  /** Pictures at first that take no time. */
  quickPictures: Type.Integer({ minimum: 0, default: 0 }),
});

/** What no picture is made of: the process that is asked for it collects its garbage instead. */
export const COLLECTING_PROMPT = 'collect garbage';

/** A model that does nothing, for so long: the picture is there already, and larger than what is asked for. */
export async function instantPicture(takesMs = 0): Promise<Buffer> {
  if (takesMs > 0) await sleep(takesMs);
  return sampleImage({ width: 1536, height: 1024, format: 'png', seed: 1 });
}

export default definePlugin<typeof OptionsSchema>({
  name: 'instant_image',
  apiVersion: 1,
  summary: 'A picture that is there already.',
  provides: ['image'],
  options: OptionsSchema,
  setup({ options: { takesMs, quickPictures } }) {
    let quick = quickPictures;
    return {
      imageProviders: [
        {
          models: [{ id: 'gen-img-2', maxReferences: 4, formats: ['png'] }],
          async generate({ prompt }) {
            if (prompt === COLLECTING_PROMPT) {
              collectGarbage();
              throw new GatewayError('moderation_blocked', 'There is no such picture.');
            }
            quick -= 1;
            return { bytes: await instantPicture(quick < 0 ? takesMs : 0), contentType: 'image/png' };
          },
        },
      ],
    };
  },
});

function collectGarbage(): void {
  // The gateway is started without it.
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
}
