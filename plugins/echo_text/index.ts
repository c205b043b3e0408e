import { definePlugin } from 'mediagate';
import { OptionsSchema } from './options.js';
import { createEchoProvider } from './provider.js';

/** The caller's own words back, in both formats; no model has a part in them. */
export default definePlugin<typeof OptionsSchema>({
  name: 'echo_text',
  apiVersion: 1,
  summary:
    'Stand-in for a text model: says the last message back, marked as an echo, in both formats, with exact usage.',
  provides: ['text'],
  standIn: true,
  options: OptionsSchema,
  setup: (context) => ({ textProviders: [createEchoProvider(context)] }),
});
