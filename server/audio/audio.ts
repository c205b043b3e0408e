/*
 * Hosted MP3 files, and what all audio routes share: admission, idempotent answers, the upload and the check of fields.
 * The first GET of an MP3 makes the file and streams it meanwhile; a range request waits for the complete file; HEAD
 * makes nothing. Audio work uses a request of the budget and no tokens. If its cost depends on the length of a
 * recording, the length is measured with ffmpeg before the work is admitted; what the file states about itself does not
 * count. An upload is on disk until its request has ended.
 */

import type { AudioExchange, UploadedAudio } from '../../core/audio/index.js';
import {
  type AudioOperation,
  field,
  type SpeechFormat,
  type Static,
  type TObject,
  Type,
} from '../../core/contracts/index.js';
import { createValidator, GatewayError } from '../../core/runtime/index.js';
import {
  type AudioForm,
  type BodyBudget,
  clientSignal,
  defineRoute,
  fieldError,
  knownFields,
  missing,
  nameIgnored,
  paramOf,
  type RequestContext,
  type Route,
  type ServerContext,
  sendFile,
  sendGrowing,
  useAudioForm,
} from '../http/index.js';
import {
  IDEMPOTENCY_ERRORS,
  IDEMPOTENCY_HEADER,
  type IdempotencyService,
  type KeyedRequest,
  type OutgoingAnswer,
  readIdempotencyKey,
} from '../idempotency/index.js';
import { type ApiKeyRecord, followKey, type KeyTable, keyOf, quotaSubject } from '../keys/index.js';
import type { LinkUsageServices } from '../links/index.js';
import { MODEL_ERRORS, modelField } from '../models/index.js';
import { highestOfAudio, type Prices } from '../prices/index.js';
import type { UsageService } from '../usage/index.js';

/** The first request of players, which asks for the whole file. */
const WHOLE = 'bytes=0-';
const AUDIO_TYPE = 'audio/mpeg';

/** What the audio routes work with. */
export interface AudioServices extends ServerContext, LinkUsageServices {
  keys: KeyTable;
  usage: UsageService;
  answers: IdempotencyService;
  /** Default: none. */
  prices?: Prices;
  /** Budget of forms; their audio files are on disk. */
  uploads: BodyBudget;
  /** Maximum bytes of an uploaded audio file. */
  audioMaxBytes: number;
}

/**
 * Hosted MP3 files: public by their unguessable names, and free. The first GET makes the file and streams it meanwhile;
 * a range request waits for the complete file; HEAD makes nothing.
 */
export function audioFileRoutes({ gateway, clock }: Pick<ServerContext, 'gateway' | 'clock'>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/extract/audio/:name.mp3',
      grant: 'none',
      format: 'link',
      endpoint: 'extractAudio',
      params: { name: { description: 'Name in the link, without `.mp3`.', example: 'NAME' } },
      tag: 'Link data',
      summary: 'Download an MP3',
      description: 'The MP3 file behind a link of an extraction. It is made and streamed at the first request.',
      headers: { Range: 'Bytes of it; waits for the whole file.' },
      answers: {
        200: { description: 'The file.', type: AUDIO_TYPE },
        206: { description: 'A part of it.', type: AUDIO_TYPE },
      },
      errors: ['file_not_found', 'link_expired', 'link_blocked', 'audio_unavailable', 'audio_timeout'],
      async handler(context) {
        const { req: request, res: response, method } = context;
        const { range = WHOLE } = request.headers;
        const make = method === 'HEAD' ? 'never' : range === WHOLE ? 'following' : 'whole';
        const audio = await gateway.audioFile({ name: paramOf(context, 'name'), make, signal: clientSignal(response) });

        const { downloadName, expiresAt } = audio;
        const terms = { downloadName, maxAgeSeconds: Math.max(0, Math.floor((expiresAt - clock.now()) / 1000)) };
        if (audio.kind === 'stored') return sendFile(context, audio, terms);
        if (audio.kind === 'growing') return sendGrowing(context, AUDIO_TYPE, audio.body, terms);
        // HEAD of a file that does not exist yet: its length is not known.
        context.status = 200;
        response.setHeader('Content-Type', AUDIO_TYPE);
      },
    }),
  ];
}

/** Declarations that all audio model routes share. */
export const AUDIO_ROUTE = {
  method: 'POST',
  grant: 'audio',
  format: 'model',
  tag: 'Models',
  headers: IDEMPOTENCY_HEADER,
  errors: [...MODEL_ERRORS, 'unsupported_value', ...IDEMPOTENCY_ERRORS],
} as const;
export const AUDIO_ANSWERS = { 200: { description: 'The audio, streamed while it is made.', type: 'audio/*' } };

/** Form fields, as the API reference describes them. */
export const FORM_FIELDS = {
  file: field(Type.String({ format: 'binary' }), 'The audio file: MP3, MP4, M4A, WAV, WebM, Ogg or FLAC.'),
  model: modelField('stt-large-v3'),
};

export interface AudioWork<Answer> extends KeyedRequest {
  model: string;
  operation: AudioOperation;
  /** The text to be spoken. */
  input?: string;
  /** The text that the request asks with. Default: `input`. */
  text?: string | undefined;
  /** What it uses at most, for a budget of money. Default: not known, and such a budget refuses it. */
  uses?: { characters?: number };
  /** The recording that it hears. Default: none. */
  audio?: UploadedAudio;
  /** Fetches the recording that it hears, in place of an upload. Default: none. */
  fetchAudio?(signal: AbortSignal): Promise<UploadedAudio>;
  /** Names of ignored fields in the request. Default: none. */
  ignored?: readonly string[];
  /** Whether the answer is complete when it is sent, so that its cost is known. Default false. */
  isWhole?: boolean;
  /**
   * Calls the model, until the signal aborts.
   * @param audio The recording, with its measured length if that is paid for.
   */
  ask(signal: AbortSignal, audio: UploadedAudio | undefined): AudioExchange<Answer & { ignored?: readonly string[] }>;
  encode(answer: Answer): OutgoingAnswer;
}

/** Audio spends a request and no tokens, but it is refused if the budget is used up. */
const MIN_TOKENS = 1;

/** Admits a valid request, records its usage, and sends its answer; or repeats the stored answer. */
export async function workOnAudio<Answer>(
  context: RequestContext,
  { gateway, usage, answers, keys, prices }: AudioServices,
  {
    route,
    key,
    fingerprint,
    model,
    operation,
    input,
    text = input,
    uses = {},
    audio: sent,
    fetchAudio,
    ignored = [],
    isWhole,
    ask,
    encode,
  }: AudioWork<Answer>,
): Promise<void> {
  const { res: response } = context;
  const { standIn } = gateway.audio.match(model, operation, input);
  const asked = usage.inputOf(context, () => text);
  const request = {
    ...{ route, model, tokens: MIN_TOKENS, spendsTokens: false, input: asked },
    outlivesClient: key !== undefined,
  };
  const isPaid = isPaidByLength(prices, model, keyOf(context));
  const { ended, leave } = followKey(keys, keyOf(context).id);
  try {
    await answers.answer(context, { route, key, fingerprint, ended }, async ({ signal, send }) => {
      const fetched = await fetchAudio?.(signal);
      try {
        const upload = sent ?? fetched;
        const audio = upload && isPaid ? await measured(upload, signal) : upload;
        const admission = { ...request, uses: audio ? { ...uses, ...lengthOf(audio) } : uses };
        await usage.admitted(context, admission, async (work) => {
          const exchange = ask(signal, audio);
          work.uses(exchange.ended);
          const answer = await exchange.answer;
          if (standIn !== undefined) response.setHeader('x-mediagate-stand-in', standIn);
          nameIgnored(context, [...ignored, ...(answer.ignored ?? [])]);
          if (isWhole) await work.sendCost?.();
          await send(encode(answer));
        });
      } finally {
        await fetched?.remove();
      }
    });
  } finally {
    leave();
  }
}

/** Whether money may depend on the length of a recording: by the price of a second, or in a budget. */
function isPaidByLength(
  prices: Prices | undefined,
  model: string,
  { budgetId, furtherBudgets, balance }: Pick<ApiKeyRecord, 'budgetId' | 'furtherBudgets' | 'balance'>,
): boolean {
  if (!prices) return false;
  const costOf = (seconds: number) => prices.highestCostOf({ model, characters: 0, ...lengthOf({ seconds }) });
  return budgetId !== null || furtherBudgets !== undefined || balance !== undefined || costOf(0) !== costOf(3_600);
}

/** What a recording uses at most: by its seconds, or by tokens. */
function lengthOf({ seconds }: { seconds?: number }) {
  return seconds === undefined ? { seconds } : highestOfAudio(seconds);
}

/** The recording with the length that it really has; without ffmpeg it is not known. */
async function measured(audio: UploadedAudio, signal: AbortSignal): Promise<UploadedAudio> {
  const { seconds: _stated, ...rest } = audio;
  const seconds = await audio.measure(signal);
  return seconds === undefined ? rest : { ...rest, seconds };
}

export interface AudioUpload extends Pick<KeyedRequest, 'key' | 'fingerprint'>, Pick<AudioForm, 'fields'> {
  /** Undefined if the form has another field in its place. */
  audio: UploadedAudio | undefined;
}

/** Names of fields of a form. */
interface UploadFields {
  /** The audio file; the first one is named if it is missing. */
  audioFields: readonly [string, ...string[]];
  /** Those that must be in their exact letters. */
  exact: readonly string[];
  /** Those that may have 1 MiB. Default: none. */
  longFields?: readonly string[];
  /** A field that may stand in place of the audio file. Default: none. */
  insteadOfAudio?: string;
}

/**
 * Reads the form of an audio route. The file exists until `use` has ended.
 * @throws GatewayError `missing_required_parameter`, and as {@link useAudioForm}.
 */
export async function useUpload(
  context: RequestContext,
  { gateway, uploads, audioMaxBytes }: AudioServices,
  { audioFields, insteadOfAudio, ...names }: UploadFields,
  use: (upload: AudioUpload) => Promise<void>,
): Promise<void> {
  const { req: request, res: response } = context;
  const key = readIdempotencyKey(request.headers);
  const form = {
    audio: gateway.audio,
    audioFields,
    ...names,
    maxBytes: audioMaxBytes,
    budget: uploads,
    owner: quotaSubject(keyOf(context)),
    signal: clientSignal(response),
    fingerprinted: key !== undefined,
  };
  await useAudioForm(request, response, form, ({ fields, audio, fingerprint }) => {
    if (!audio && !(insteadOfAudio && fields.has(insteadOfAudio))) missing(audioFields[0], 'an audio file');
    return use({ fields, audio, key, fingerprint });
  });
}

export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const satisfies readonly SpeechFormat[];
export const MAX_TEXT_LENGTH = 4_096;
export const MAX_NAME_LENGTH = 128;

export const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH });
export const AudioText = Type.String({ pattern: '\\S', maxLength: MAX_TEXT_LENGTH });
export const AudioFormat = Type.Union(SPEECH_FORMATS.map((one) => Type.Literal(one)));
export const FORMAT_DESCRIPTION = 'Format of the audio. Default `mp3`.';

/** What the fields of audio requests accept: for error messages. */
const ACCEPTED: Readonly<Record<string, string>> = {
  model: 'the name of an audio model',
  input: `a text of 1 to ${MAX_TEXT_LENGTH} characters`,
  text: `a text of 1 to ${MAX_TEXT_LENGTH} characters`,
  prompt: `a text of 1 to ${MAX_TEXT_LENGTH} characters`,
  voice: `the name of a voice, of at most ${MAX_NAME_LENGTH} characters, or {"id": "…"}`,
  response_format: SPEECH_FORMATS.map((one) => `"${one}"`).join(', '),
  speed: 'a number from 0.25 to 4',
  instructions: `a text of at most ${MAX_TEXT_LENGTH} characters`,
  stream_format: '"audio" or "sse"',
  duration_seconds: 'a number from 0.5 to 30',
  duration: 'a number from 0.5 to 30',
};

/** Checks the known fields; `null` counts as not sent. */
export function createFieldCheck<Schema extends TObject>(schema: Schema) {
  const validator = createValidator(schema);
  const known = Object.keys(schema.properties);

  /** @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`. */
  return (sent: Readonly<Record<string, unknown>>): { fields: Static<Schema>; rest: Record<string, unknown> } => {
    const checked = validator.check(knownFields(sent, schema));
    if (!checked.ok) throw fieldError(checked.issues[0], ACCEPTED);
    const rest = Object.entries(sent).filter(([field, value]) => value !== null && !known.includes(field));
    return { fields: checked.value, rest: Object.fromEntries(rest) };
  };
}

export function missingField(param: string): GatewayError {
  return fieldError({ path: param, keyword: 'required' }, ACCEPTED);
}
