/*
 * The tools `transcribe_audio`, `translate_audio` and `speak`. A recording comes as a link of a supported platform, or in
 * base64 as part of the call. Speech is in the result as audio content, since its route stores no files.
 */

import { randomBytes } from 'node:crypto';
import type { AudioOperation } from '../../core/contracts/index.js';
import { field, optional, type TSchema, Type } from '../../core/contracts/index.js';
import { FormBody, OneOf } from '../http/index.js';
import { chooseModel } from '../models/index.js';
import { IDEMPOTENCY_FIELD, idempotencyHeader, modelField } from './image-tools.js';
import { closed } from './link-tools.js';
import { argumentError, outsideResult, outsideSchema, ownResult } from './results.js';
import { bodyFields, routeOf, type Tool, type ToolCall, type ToolSources } from './tool.js';

const SPEECH = '/v1/audio/speech';
/** Longer texts are several calls: a result has the whole audio in it. */
const MAX_SPEECH_CHARACTERS = 4_096;
const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', opus: 'audio/ogg', wav: 'audio/wav' };
const FORMATS = Object.keys(AUDIO_TYPES);
const BASE64 = /^(?:data:([\w/+.-]+)(?:;[\w=.-]+)*;base64,)?([A-Za-z0-9+/]+={0,2})$/;

const HEARING = [
  {
    name: 'transcribe_audio',
    title: 'Transcribe audio',
    path: '/v1/audio/transcriptions',
    operation: 'transcribe',
    description: 'Writes down what is said in a recording, in its own language. Uses an audio model.',
  },
  {
    name: 'translate_audio',
    title: 'Translate audio into English',
    path: '/v1/audio/translations',
    operation: 'translate',
    description: 'Writes down in English what is said in a recording of any language. Uses an audio model.',
  },
] as const;

export function audioTools(sources: ToolSources): Tool[] {
  return [...HEARING.map((one) => hearingTool(sources, one)), speakTool(sources)];
}

function hearingTool({ gateway, routes }: ToolSources, tool: (typeof HEARING)[number]): Tool {
  const { name, title, description, path, operation } = tool;
  const { url, language, prompt } = bodyFields(routeOf(routes, 'POST', path)) as Record<string, TSchema>;
  return {
    name,
    title,
    description,
    grant: 'audio',
    input: closed({
      url: url as TSchema,
      audio: optional(
        Type.String({ minLength: 1 }),
        'The recording in base64, or as a data URI: MP3, MP4, M4A, WAV, WebM, Ogg or FLAC. In place of `url`.',
      ),
      model: modelField('an audio model'),
      ...(operation === 'transcribe' && { language: language as TSchema }),
      prompt: prompt as TSchema,
      with_times: optional(Type.Boolean(), 'Add the times of each segment. Default false.'),
      idempotency_key: IDEMPOTENCY_FIELD,
    }),
    output: outsideSchema({
      text: field(Type.String(), 'What is said.'),
      language: optional(Type.Union([Type.String(), Type.Null()]), 'Language of the recording, if it is known.'),
      duration: optional(Type.Number(), 'Seconds of the recording, if they are known.'),
      segments: optional(
        Type.Array(Type.Object({ start: Type.Number(), end: Type.Number(), text: Type.String() })),
        'With `with_times`.',
      ),
    }),
    hints: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
    async run({ input, key, callRoute, signal }) {
      const model = modelFor({ input, key }, gateway, operation);
      const body = formOf({ ...input, model });
      const headers = idempotencyHeader(input.idempotency_key);
      const { json } = await callRoute({ method: 'POST', path, body, headers }, signal);
      const segments = json.segments?.map(({ start, end, text }: Record<string, unknown>) => ({ start, end, text }));
      const { text, language: spoken, duration } = json;
      const known = { ...(spoken && { language: spoken }), ...(duration !== undefined && { duration }) };
      return outsideResult('The words of a recording.', { text, ...known, ...(segments && { segments }) });
    },
  };
}

function modelFor(
  { input, key }: Pick<ToolCall, 'input' | 'key'>,
  gateway: ToolSources['gateway'],
  operation: AudioOperation,
) {
  if (typeof input.model === 'string') return input.model;
  return chooseModel(gateway, key, ({ kind, operations = [] }) => kind === 'audio' && operations.includes(operation));
}

/** The form of the route. @throws GatewayError `invalid_value`. */
function formOf({ url, audio, model, language, prompt, with_times: withTimes }: ToolCall['input']): FormBody {
  if ((url === undefined) === (audio === undefined)) throw argumentError('url', 'Send either url or audio.');
  const format = withTimes ? 'verbose_json' : 'json';
  const texts = Object.entries({ model, url, language, prompt, response_format: format });
  const boundary = `mediagate-${randomBytes(12).toString('hex')}`;
  const parts: Buffer[] = [];
  for (const [name, value] of texts) {
    if (value === undefined) continue;
    parts.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`));
  }
  if (typeof audio === 'string') {
    const [, type = 'application/octet-stream', base64] = BASE64.exec(audio) ?? [];
    if (base64 === undefined)
      throw argumentError('audio', 'audio must be a recording in base64, or a data URI with it.');
    const head = `Content-Disposition: form-data; name="file"; filename="recording"\r\nContent-Type: ${type}`;
    parts.push(Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), Buffer.from(base64, 'base64'), Buffer.from('\r\n'));
  }
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return new FormBody(Buffer.concat(parts), `multipart/form-data; boundary=${boundary}`);
}

function speakTool({ gateway, routes }: ToolSources): Tool {
  const { speed, instructions } = bodyFields(routeOf(routes, 'POST', SPEECH)) as Record<string, TSchema>;
  return {
    name: 'speak',
    title: 'Speak a text',
    description: 'Speaks a text, and returns the audio. Uses an audio model.',
    grant: 'audio',
    input: closed({
      input: field(
        Type.String({ minLength: 1, maxLength: MAX_SPEECH_CHARACTERS }),
        `The text to speak, at most ${MAX_SPEECH_CHARACTERS} characters.`,
      ),
      model: modelField('an audio model'),
      voice: optional(Type.String(), 'Name of the voice. Default `alloy`.'),
      response_format: optional(OneOf(...FORMATS), 'Format of the audio. Default `mp3`.'),
      speed: speed as TSchema,
      instructions: instructions as TSchema,
      idempotency_key: IDEMPOTENCY_FIELD,
    }),
    output: Type.Object({
      model: field(Type.String(), 'The model that spoke.'),
      bytes: field(Type.Integer(), 'Size of the audio.'),
      content_type: field(Type.String(), 'Media type of the audio.'),
    }),
    hints: { readOnlyHint: false, idempotentHint: false, openWorldHint: false },
    async run({ input, key, callRoute, signal }) {
      const { idempotency_key: idempotencyKey, voice = 'alloy', response_format: format = 'mp3', ...fields } = input;
      const model = modelFor({ input, key }, gateway, 'speak');
      const body = { ...fields, model, voice, response_format: format };
      const headers = idempotencyHeader(idempotencyKey);
      const { bytes, header } = await callRoute({ method: 'POST', path: SPEECH, body, headers }, signal);
      const type = header('content-type') ?? AUDIO_TYPES[String(format)] ?? 'audio/mpeg';
      const audio = { type: 'audio', data: bytes.toString('base64'), mimeType: type } as const;
      return ownResult({ model, bytes: bytes.length, content_type: type }, [audio]);
    },
  };
}
