import { describeImageProvider, describePlugin } from 'mediagate-plugin/testing';
import plugin from '../index.js';

const options = { apiKey: 'lantern-key-of-the-test' };

describePlugin({ plugin, folder: import.meta.url, options });

describeImageProvider({
  plugin,
  options,
  secrets: [options.apiKey],
  takesReferences: false,
  upstream: {
    image: (_request, bytes) => ({ body: { picture: Buffer.from(bytes).toString('base64'), tokens: 1024 } }),
    moderation: { status: 422, body: { refused: 'unsafe', words: `lantern-x9 refuses ${options.apiKey}` } },
  },
});
