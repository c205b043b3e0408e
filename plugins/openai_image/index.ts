import { definePlugin } from 'mediagate';
import { createOpenaiImageProvider } from './provider.js';
import { OptionsSchema } from './upstream.js';

/** Images from any server of the OpenAI images format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_image',
  apiVersion: 1,
  summary: 'Images from servers of the OpenAI images format: text to image, up to four references, fail-over.',
  provides: ['image'],
  options: OptionsSchema,
  setup: (context) => ({ imageProviders: [createOpenaiImageProvider(context)] }),
});
