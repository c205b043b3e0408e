/** The OpenAI image provider, checked by the testing kit. */

import { describeImageProvider, describePlugin } from 'mediagate/testing';
import plugin from '../index.js';

const apiKey = 'key-of-the-upstream-in-this-test';
const options = { upstreams: [{ url: 'https://images.example/v1', apiKey, model: 'vendor-model-x9' }] };

describePlugin({ plugin, folder: import.meta.url, options });

describeImageProvider({
  plugin,
  options,
  secrets: [apiKey, 'vendor-model-x9'],
  upstream: {
    image: (_request, bytes) => ({
      body: {
        created: 1_781_500_000,
        data: [{ b64_json: Buffer.from(bytes).toString('base64') }],
        usage: { input_tokens: 21, output_tokens: 1056, total_tokens: 1077 },
      },
    }),
    moderation: {
      status: 400,
      body: {
        error: {
          message: `vendor-model-x9 rejected this with ${apiKey}. safety_violations=[violence].`,
          type: 'image_generation_user_error',
          param: null,
          code: 'moderation_blocked',
        },
      },
    },
  },
});
