import { definePlugin } from 'mediagate';
import { OptionsSchema } from './options.js';
import { createElevenlabsAudioProvider } from './provider.js';

/** Speech, changed voices and sound effects from ElevenLabs. */
export default definePlugin<typeof OptionsSchema>({
  name: 'elevenlabs_audio',
  apiVersion: 1,
  summary: 'Speech, changed voices and sound effects from ElevenLabs.',
  provides: ['audio'],
  options: OptionsSchema,
  setup: (context) => ({ audioProviders: [createElevenlabsAudioProvider(context)] }),
});
