import { Type } from 'mediagate';
import { SoundBodySchema, SPEECH_FORMATS, SpeechBodySchema, TRANSCRIPTION_FORMATS } from '../audio/index.js';
import { type AnswerName, answerSchema } from './answer-schemas.js';
import { IDEMPOTENCY, IDEMPOTENCY_ERRORS, type Operation, type Operations } from './operation.js';

const FAILURES = [
  'model_not_found',
  'model_not_supported',
  'model_not_allowed',
  'insufficient_quota',
  'rate_limit_exceeded',
  'upstream_rate_limited',
  'upstream_error',
  'upstream_timeout',
  'upstream_unavailable',
  'plugin_unavailable',
] as const;

const AUDIO_FAILURES = [...FAILURES, 'unsupported_value', ...IDEMPOTENCY_ERRORS] as const;

const Model = Type.String({ description: 'Id of a model; GET /v1/models lists them.' });
const File = Type.String({ contentMediaType: 'application/octet-stream', description: 'A sound.' });
const oneOf = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)));
/** The gateway looks at these; every other member goes to the model as it is. */
const looked = {
  model: Model,
  stream: Type.Optional(Type.Boolean({ description: 'Answers in events as it is made.' })),
};

const ChatBody = Type.Object({ ...looked, messages: Type.Array(Type.Object({})) });
const ResponseBody = Type.Object({ ...looked, input: Type.Union([Type.String(), Type.Array(Type.Object({}))]) });

const TaskBody = Type.Object({
  model: Model,
  input: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Object({}))])),
});

function transcription(summary: string): Operation {
  return {
    tag: 'Models',
    summary,
    access: 'key',
    headers: IDEMPOTENCY,
    body: {
      type: 'multipart/form-data',
      schema: Type.Object({
        file: File,
        model: Model,
        language: Type.Optional(Type.String({ description: 'ISO 639-1' })),
        prompt: Type.Optional(Type.String()),
        response_format: Type.Optional(oneOf(TRANSCRIPTION_FORMATS)),
        temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        stream: Type.Optional(Type.Boolean()),
      }),
    },
    answers: {
      200: { description: 'What is said; text or subtitles on request.', schema: answerSchema('Transcript') },
    },
    errors: AUDIO_FAILURES,
  };
}

const sound = { 200: { description: 'The sound, while it is made.', type: 'audio/*' } };

function stored(summary: string, schema: AnswerName | undefined): Operation {
  const answer = { description: 'As it was made.', schema: schema ? answerSchema(schema) : Type.Object({}) };
  return { tag: 'Models', summary, access: 'key', answers: { 200: answer }, errors: ['response_not_found'] };
}

/** What is looked at of a message; README says what becomes of the rest. */
const MessageBody = {
  model: Model,
  messages: Type.Array(Type.Object({}), { minItems: 1 }),
  system: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Object({}))])),
  tools: Type.Optional(Type.Array(Type.Object({}))),
};

const FOR_ANTHROPIC = {
  'anthropic-version':
    "With any version, the answer has Anthropic's form, of text models alone, where the operator has enabled messages; the key may then be in X-API-Key.",
} as const;

function message(what: Pick<Operation, 'summary' | 'body' | 'answers'>): Operation {
  const errors = [...FAILURES, 'unsupported_value', 'context_length_exceeded'] as const;
  return { tag: 'Models', access: 'linkKey', errors, errorSchema: 'MessageError', ...what };
}

export const MODELS: Operations = {
  'POST /v1/chat/completions': {
    tag: 'Models',
    summary: "A chat, whole or streamed, in OpenAI's format",
    access: 'key',
    body: {
      schema: ChatBody,
      example: { model: 'm-5.5', messages: [{ role: 'user', content: 'Name three harbours.' }] },
    },
    answers: {
      200: { description: 'The answer, or with `stream` its events.', schema: answerSchema('ChatCompletion') },
    },
    errors: [...FAILURES, 'invalid_prompt', 'content_filter', 'context_length_exceeded'],
  },
  'POST /v1/responses': {
    tag: 'Models',
    summary: "A response, whole or streamed, in OpenAI's format",
    access: 'key',
    body: { schema: ResponseBody, example: { model: 'm-5.5', input: 'Name three harbours.' } },
    answers: { 200: { description: 'The response, or with `stream` its events.', schema: answerSchema('Response') } },
    errors: [...FAILURES, 'previous_response_not_found', 'context_length_exceeded'],
  },
  'POST /v1/responses/compact': {
    tag: 'Models',
    summary: 'A long conversation made shorter',
    access: 'key',
    body: { schema: TaskBody },
    answers: { 200: { description: 'What the conversation goes on from.', schema: Type.Object({}) } },
    errors: [...FAILURES, 'previous_response_not_found', 'context_length_exceeded'],
  },
  'POST /v1/responses/input_tokens': {
    tag: 'Models',
    summary: 'How many tokens a request would have',
    access: 'key',
    body: { schema: TaskBody, example: { model: 'm-5.5', input: 'Name three harbours.' } },
    answers: {
      200: { description: 'Its tokens.', schema: Type.Object({ object: Type.String(), input_tokens: Type.Integer() }) },
    },
    errors: [...FAILURES, 'previous_response_not_found'],
  },
  'GET /v1/responses/:id': stored('A stored response', 'Response'),
  'DELETE /v1/responses/:id': stored('Deletes a stored response', undefined),
  'POST /v1/responses/:id/cancel': stored('Ends a response that is made in the background', 'Response'),
  'GET /v1/responses/:id/input_items': stored('What a stored response answers', undefined),
  'GET /v1/models': {
    tag: 'Models',
    summary: 'Models that are ready and that the plan of the key allows',
    access: 'key',
    headers: FOR_ANTHROPIC,
    answers: { 200: { description: 'The list.', schema: answerSchema('ModelList') } },
  },
  'GET /v1/models/:id': {
    tag: 'Models',
    summary: 'One of them',
    access: 'key',
    headers: FOR_ANTHROPIC,
    answers: { 200: { description: 'The model.', schema: answerSchema('Model') } },
    errors: ['model_not_found'],
  },
  'POST /v1/audio/transcriptions': transcription('A sound in, what is said in it out'),
  'POST /v1/audio/translations': transcription('The same in English, whatever is spoken'),
  'POST /v1/audio/speech': {
    tag: 'Models',
    summary: 'A text in, speech out',
    access: 'key',
    headers: IDEMPOTENCY,
    body: { schema: SpeechBodySchema, example: { model: 'tts_v3', voice: 'alloy', input: 'Ahoy!' } },
    answers: sound,
    errors: AUDIO_FAILURES,
  },
  'POST /v1/audio/voice-changer': {
    tag: 'Models',
    summary: 'A sound in, the same in another voice out',
    access: 'key',
    headers: IDEMPOTENCY,
    body: {
      type: 'multipart/form-data',
      schema: Type.Object({
        audio: File,
        model: Model,
        voice: Type.String(),
        response_format: Type.Optional(oneOf(SPEECH_FORMATS)),
      }),
    },
    answers: sound,
    errors: AUDIO_FAILURES,
  },
  'POST /v1/audio/sound-effects': {
    tag: 'Models',
    summary: 'A description in, a sound out',
    access: 'key',
    headers: IDEMPOTENCY,
    body: { schema: SoundBodySchema, example: { model: 'tts_text_to_sound_v2', text: 'Rain on a tin roof' } },
    answers: sound,
    errors: AUDIO_FAILURES,
  },
  'POST /v1/messages': message({
    summary: "A message, whole or streamed, in Anthropic's format; 403 where the operator has not enabled it",
    body: {
      schema: Type.Object({
        ...MessageBody,
        max_tokens: Type.Integer({ minimum: 1 }),
        stream: Type.Optional(Type.Boolean({ description: 'Answers in events as it is made.' })),
      }),
      example: { model: 'm-5.5', max_tokens: 500, messages: [{ role: 'user', content: 'Name three harbours.' }] },
    },
    answers: { 200: { description: 'The message, or with `stream` its events.', schema: answerSchema('Message') } },
  }),
  'POST /v1/messages/count_tokens': message({
    summary: 'How many tokens such a request would have; 403 likewise',
    body: {
      schema: Type.Object(MessageBody),
      example: { model: 'm-5.5', messages: [{ role: 'user', content: 'Name three harbours.' }] },
    },
    answers: { 200: { description: 'Its tokens.', schema: Type.Object({ input_tokens: Type.Integer() }) } },
  }),
};
