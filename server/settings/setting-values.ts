/*
 * Readers of single values, such as addresses, numbers and lists. Each throws an Error that names the accepted form and
 * never quotes the value, since some values are secret. The file also describes the environment variables that the
 * packaged `plugins.config.json` substitutes; the option schemas of the plugins define what these accept, and a test
 * compares the list with the file and with the documentation.
 */

import { isIP } from 'node:net';
import { isLoopbackHost } from '../../core/net/index.js';
import { isCurrency } from '../format/index.js';

const MIN_SECRET_LENGTH = 32;

export function hostName(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9.-]{1,253}$/.test(text)) throw new Error('an IP address or a host name');
  return text;
}

export function wholeNumber(text: string, minimum: number, maximum: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new Error(`a whole number from ${minimum} to ${maximum}`);
}

export function currencyCode(text: string): string {
  if (isCurrency(text)) return text;
  throw new Error('the code of a currency (ISO 4217), such as USD or EUR');
}

export function decimal(text: string, minimum: number, maximum: number): number {
  const value = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new Error(`a number from ${minimum} to ${maximum}`);
}

export function oneOf<Choice extends string>(text: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === text.toLowerCase());
  if (found === undefined) throw new Error(`one of ${choices.join(', ')}`);
  return found;
}

export function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function secrets(text: string): string[] {
  const values = list(text);
  if (text !== '' && (values.length === 0 || values.some((value) => value.length < MIN_SECRET_LENGTH))) {
    throw new Error(`${MIN_SECRET_LENGTH} characters or more, or several such separated by commas`);
  }
  return values;
}

export function urlOf(text: string, protocols: readonly string[]): string {
  const url = URL.parse(text);
  if (!url || !protocols.includes(url.protocol))
    throw new Error(`a URL that begins with ${protocols.map((one) => `${one}//`).join(' or ')}`);
  if (!isEncoded(url.username) || !isEncoded(url.password))
    throw new Error('a URL whose user and password are percent-encoded');
  return text;
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

export function webAddress(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Error('an http or https address without user, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}

/** An identity provider. It is compared character by character, so it is not normalized. */
export function issuerAddress(text: string): string {
  const url = URL.parse(text);
  const secure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  if (!url || !secure || url.search || url.hash || url.username) {
    throw new Error('an https address without user, query or fragment (http on a loopback address alone)');
  }
  return text;
}

/** An application of the operator that signs people in with the accounts of the gateway. */
export interface SignInApp {
  /** Its client id. */
  name: string;
  redirectUris: readonly string[];
}

/** `name=address`, separated by commas; an application with several addresses has several entries. */
export function signInApps(text: string): readonly SignInApp[] {
  const accepted =
    'name=address, separated by commas: names of 1 to 32 lower-case letters, digits and hyphens, and https addresses without user or fragment (http on a loopback address alone)';
  const pairs = list(text).map((entry) => {
    const [, name = '', address = ''] = /^([a-z][a-z0-9-]{0,31})=(\S+)$/.exec(entry) ?? [];
    const url = URL.parse(address);
    const secure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
    if (!url || !secure || url.hash || url.username || url.password) throw new Error(accepted);
    return { name, address };
  });
  const byName = Map.groupBy(pairs, ({ name }) => name);
  return Array.from(byName, ([name, own]) => ({ name, redirectUris: own.map(({ address }) => address) }));
}

export function origin(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash || url.username) {
    throw new Error('origins such as http://127.0.0.1:9000, separated by commas');
  }
  if (url.hostname.includes('*')) throw new Error('whole origins: a part of a name cannot be "*"');
  return url.origin;
}

/** Origins of other pages: `*` stands alone, for all of them. */
export function corsOrigins(text: string): string[] {
  const all = list(text);
  if (all.includes('*') && all.length > 1)
    throw new Error('either "*" alone, which is every origin, or a list of origins');
  return all.map((one) => (one === '*' ? one : origin(one)));
}

const ADDRESS = 'Address of a server of the OpenAI';
const STAND_IN = 'none: a mock answers';

/**
 * Environment variables that the plugins.config.json of the package substitutes, besides those of the settings.
 * The table of docs/operate/connect-models.md contains the same list, and a test compares it with that file. The plugins' option
 * schemas define the accepted values.
 */
export const PLUGIN_SETTING_DESCRIPTIONS: readonly SettingDescription[] = [
  {
    name: 'IMAGE_UPSTREAM_URL',
    default: STAND_IN,
    description: `${ADDRESS} images format, e.g. \`https://api.openai.com/v1\`.`,
  },
  ...upstream('IMAGE_UPSTREAM', 'gpt-image-2'),
  {
    name: 'TEXT_UPSTREAM_URL',
    default: STAND_IN,
    description: `${ADDRESS} chat-completions or responses format, for text models.`,
  },
  ...upstream('TEXT_UPSTREAM', 'one for each model, as its entry says'),
  {
    name: 'TEXT_UPSTREAM_MODELS',
    default: 'none',
    description:
      'Text models of that server, separated by commas, e.g. `gpt-5.5,qwen3:32b`. Clients use the same names. `TEXT_UPSTREAM_MODEL` comes before them.',
  },
  {
    name: 'ANTHROPIC_UPSTREAM_URL',
    default: 'none',
    description: "Address of a server of Anthropic's messages format, e.g. `https://api.anthropic.com`.",
  },
  { name: 'ANTHROPIC_UPSTREAM_KEY', default: 'none is sent', description: 'Key of that server, sent as `x-api-key`.' },
  {
    name: 'ANTHROPIC_UPSTREAM_MODELS',
    default: 'none; needed with the address',
    description:
      'Its models, separated by commas, e.g. `claude-opus-4-6,claude-haiku-4-5`. Clients use the same names.',
  },
  {
    name: 'EMBEDDING_MODELS',
    default: 'none: embeddings answer 503',
    description:
      'Embeddings models at `TEXT_UPSTREAM_URL`, separated by commas, e.g. `text-embedding-3-small`. Clients use the same names.',
  },
  {
    name: 'MODERATION_MODELS',
    default: 'none: moderations answer 503',
    description: 'Moderation models at `TEXT_UPSTREAM_URL`, separated by commas, e.g. `omni-moderation-latest`.',
  },
  {
    name: 'TRANSCRIPTION_UPSTREAM_URL',
    default: STAND_IN,
    description: `${ADDRESS} audio format, for transcription and translation.`,
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
    description: 'ElevenLabs key: enables its speech, voice conversion and sound effects.',
  },
  {
    name: 'ELEVENLABS_URL',
    default: 'https://api.elevenlabs.io/v1',
    description: 'Another address of ElevenLabs.',
  },
  {
    name: 'VIDSITE_API_KEY',
    default: 'none: that method is skipped',
    description: 'Key of the official Data API of the video site; its method then runs first.',
  },
];

function upstream(prefix: string, model: string): SettingDescription[] {
  return [
    { name: `${prefix}_KEY`, default: 'none is sent', description: 'Key of that server, sent as a bearer token.' },
    { name: `${prefix}_MODEL`, default: model, description: 'Name of the model on that server.' },
  ];
}

/** One environment variable. */
export interface SettingDescription {
  name: string;
  /** The default, as text. */
  default: string;
  description: string;
}

/** One environment variable of the gateway itself. */
export interface Setting {
  name: string;
  /** The text that is read if it is not set. */
  default?: string;
  /** What applies if it is not set, in words: shown in place of the default. */
  unset?: string;
  description: string;
  /** Parses the variable into its part of the settings. @throws Error that names the accepted form. */
  read(text: string): object;
}

type PartOf<Row> = Row extends { read(text: string): infer Part } ? Part : never;
type AllOf<Part> = (Part extends unknown ? (part: Part) => void : never) extends (all: infer All) => void ? All : never;

/** What rows of settings read, if their variables are set. */
export type GivenSettings<Row> = Partial<AllOf<PartOf<Row>>>;

/** What rows with a default read. */
export type PresetSettings<Row> = AllOf<PartOf<Extract<Row, { default: string }>>>;
