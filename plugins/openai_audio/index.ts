import { definePlugin } from 'mediagate';
import { createOpenaiAudioProvider } from './provider.js';
import { OptionsSchema } from './upstream.js';

/** Speech in both directions from any server of the OpenAI audio format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_audio',
  apiVersion: 1,
  summary: 'Transcription, translation and speech from servers of the OpenAI audio format, with fail-over.',
  provides: ['audio'],
  options: OptionsSchema,
  setup: (context) => ({ audioProviders: [createOpenaiAudioProvider(context)] }),
});
