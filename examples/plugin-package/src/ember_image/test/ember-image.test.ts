import { describeImageProvider, describePlugin } from 'mediagate-plugin/testing';
import plugin from '../index.js';

const options = { apiKey: 'ember-key-of-the-test' };
const picture = 'https://pictures.ember.example/1';

describePlugin({ plugin, folder: import.meta.url, options });

describeImageProvider({
  plugin,
  options,
  secrets: [options.apiKey],
  takesReferences: false,
  upstream: {
    // Once the task is done: the last poll, and the download.
    image: ({ url }, bytes) => (String(url) === picture ? { body: bytes } : { body: { state: 'done', picture } }),
    polling: {
      accepted: (_request, task) => ({ status: 202, body: { id: task, state: 'waiting' } }),
      pending: () => ({ body: { state: 'running' } }),
      failed: { body: { state: 'failed', words: `ember-x9 failed with ${options.apiKey}` } },
      moderation: { body: { state: 'refused', words: `ember-x9 refuses ${options.apiKey}` } },
    },
  },
});
