/** The Anthropic text provider: the kit's checks, and the conversions of chats and messages. */

import { describePlugin, describeTextProvider } from 'mediagate/testing';
import plugin from '../index.js';

const apiKey = 'key-of-the-upstream-in-this-test';
const model = 'vendor-model-x9';
const options = {
  models: [{ id: 'claude-model', model }],
  upstreams: [{ url: 'https://messages.example', apiKey }],
};

describePlugin({ plugin, folder: import.meta.url, options });

describeTextProvider({
  plugin,
  options,
  secrets: [apiKey, model],
  upstream: {
    model,
    format: 'messages',
    tooLong: {
      status: 400,
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: `prompt is too long: 9 tokens of ${model} with ${apiKey} > 8 maximum`,
        },
        request_id: 'req_1',
      },
    },
  },
});
