import type { SettingDescription } from './settings-table.js';

const ADDRESS = 'Address of a server of the OpenAI';
const STAND_IN = 'none: a stand-in answers';

/**
 * Environment variables that the plugins.config.json of the package substitutes, beside those of the settings. README's table of
 * real models is this one, and a test holds it to that file. What their values may be, the options of the plugins say.
 */
export const PLUGIN_SETTING_DESCRIPTIONS: readonly SettingDescription[] = [
  {
    name: 'IMAGE_UPSTREAM_URL',
    default: STAND_IN,
    description: `${ADDRESS} images format that makes images, e.g. \`https://api.openai.com/v1\`.`,
  },
  ...upstream('IMAGE_UPSTREAM', 'gpt-image-2'),
  {
    name: 'TEXT_UPSTREAM_URL',
    default: STAND_IN,
    description: `${ADDRESS} chat-completions or responses format that has the text models.`,
  },
  ...upstream('TEXT_UPSTREAM', 'one for each model, as its entry says'),
  {
    name: 'TRANSCRIPTION_UPSTREAM_URL',
    default: STAND_IN,
    description: `${ADDRESS} audio format that transcribes and translates.`,
  },
  ...upstream('TRANSCRIPTION_UPSTREAM', 'whisper-large-v3, whisper-large-v3-turbo'),
  {
    name: 'SPEECH_UPSTREAM_URL',
    default: STAND_IN,
    description: `${ADDRESS} audio format that speaks, where \`ELEVENLABS_API_KEY\` is not set.`,
  },
  ...upstream('SPEECH_UPSTREAM', 'gpt-4o-mini-tts'),
  {
    name: 'ELEVENLABS_API_KEY',
    default: STAND_IN,
    description: 'Key of ElevenLabs, which then speaks, changes voices and makes sounds.',
  },
  {
    name: 'ELEVENLABS_URL',
    default: 'https://api.elevenlabs.io/v1',
    description: 'Another address of it.',
  },
  {
    name: 'VIDSITE_API_KEY',
    default: 'none: that way is skipped',
    description: 'Key of the official Data API of the video site, which is then asked first.',
  },
];

function upstream(prefix: string, model: string): SettingDescription[] {
  return [
    { name: `${prefix}_KEY`, default: 'none is sent', description: 'Key of that server, sent as a bearer token.' },
    { name: `${prefix}_MODEL`, default: model, description: 'What that server calls the model.' },
  ];
}
