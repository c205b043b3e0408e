import { definePlugin } from 'mediagate';
import { createOpenaiTextProvider } from './provider.js';
import { OptionsSchema } from './upstream.js';

/** Text from any server of the OpenAI chat-completions or responses format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_text',
  apiVersion: 1,
  summary:
    'Text from servers of the OpenAI chat-completions and responses formats: one model, shared weights, fail-over.',
  provides: ['text'],
  options: OptionsSchema,
  setup: (context) => ({ textProviders: [createOpenaiTextProvider(context)] }),
});
