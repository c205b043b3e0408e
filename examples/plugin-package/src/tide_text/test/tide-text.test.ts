import { describePlugin, describeTextProvider } from 'mediagate-plugin/testing';
import plugin from '../index.js';

const options = { apiKey: 'tide-key-of-the-test' };

describePlugin({ plugin, folder: import.meta.url, options });

describeTextProvider({
  plugin,
  options,
  secrets: [options.apiKey, 'tide-large-v2'],
  upstream: {
    model: 'tide-large-v2',
    tooLong: {
      status: 400,
      body: { error: { message: 'tide-large-v2 reads 9 tokens', code: 'context_length_exceeded' } },
    },
  },
});
