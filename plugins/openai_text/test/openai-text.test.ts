/** The OpenAI text provider, checked by the testing kit. */

import { describePlugin, describeTextProvider } from 'mediagate/testing';
import plugin from '../index.js';

const apiKey = 'key-of-the-upstream-in-this-test';
const model = 'vendor-model-x9';
const options = { models: 'm-5.5', upstreams: [{ url: 'https://text.example/v1', apiKey, model }] };

describePlugin({ plugin, folder: import.meta.url, options });

describeTextProvider({
  plugin,
  options,
  secrets: [apiKey, model],
  upstream: {
    model,
    tooLong: {
      status: 400,
      body: {
        error: {
          message: `The input of ${model} with ${apiKey} is longer than its context window of 9 tokens.`,
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
    },
  },
});
