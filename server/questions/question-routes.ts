/*
 * `POST /v1/extract/answers`: answers a question about a public link. The link and its transcript are read by
 * `/v1/extract`, and the model is asked by `/v1/chat/completions`, both with the key of the request: each admits, reserves
 * and settles as always, so the highest price is held before the model runs. An equal question of the same key about an
 * unchanged item has its first answer for a day, and costs only the link. The answer is read and checked by
 * `question-answers.ts`; one that is unusable is asked for once more.
 */

import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import type { Gateway } from 'mediagate';
import { field, optional, Type } from '../../core/contracts/index.js';
import { hashText } from '../../core/jobs/index.js';
import { ERRORS, type ErrorCode, GatewayError } from '../../core/runtime/index.js';
import {
  AnyObject,
  type BodyBudget,
  type CallAnswer,
  type CallRoute,
  clientSignal,
  createCallRoute,
  defineRoute,
  JSON_TYPE,
  Nullable,
  OneOf,
  type RequestContext,
  type Route,
  RouteFailure,
  readJson,
  Text,
} from '../http/index.js';
import type { IdempotencyService } from '../idempotency/index.js';
import { keyOf, quotaSubject } from '../keys/index.js';
import { EXAMPLE_LINK, LINK_ROUTE, REFUSALS } from '../links/index.js';
import { chooseModel, isMockModel, MODEL_ERRORS } from '../models/index.js';
import { addCost, type Prices } from '../prices/index.js';
import { type CheckedAnswer, readAnswer } from './question-answers.js';
import { checkQuestion, type Question, QuestionBody, unusable } from './question-fields.js';
import { createMessages, readSource, type SourceText } from './question-prompt.js';

export const ANSWERS_PATH = '/v1/extract/answers';
const MAX_BODY_BYTES = 65_536;
/** Tokens of an answer; the reservation holds the price of so many. */
const MAX_OUTPUT_TOKENS = 4_000;
const TRIES = 2;

const Claims = Type.Array(
  Type.Object({
    text: field(Text, 'The statement.'),
    seconds: optional(Type.Number(), 'Where it is said: seconds from the start.', 12.5),
    field: optional(Text, 'Where it is written: path in `data` of the document.', 'common.title'),
  }),
);

const Answer = Type.Object(
  {
    ok: field(Type.Literal(true), 'Always true.'),
    platform: field(Text, 'Platform key.', 'vidsite'),
    input_url: field(Text, 'The link as sent.'),
    question: field(Text, 'The question as sent.'),
    model: field(Text, 'Id of the model that answered.', 'm-5.5'),
    content_from_outside: field(Type.Literal(true), 'Always true: the answer repeats what others wrote or said.'),
    answer: field(Nullable(Text), 'The answer. Null if the item does not say it, or if a schema was sent.'),
    data: optional(AnyObject, 'The answer in the form of the schema. Only with `schema`.'),
    claims: field(Claims, 'The statements of the answer, each with its source in the item.'),
    transcript_source: field(
      Nullable(OneOf('captions', 'auto_captions', 'speech')),
      'Where the words that are spoken come from. Null without any.',
    ),
    limitations: field(Type.Array(Text), 'Notes of the document, and `claims_unsupported` and `source_shortened`.'),
  },
  { description: 'The answer to a question about a link.' },
);

export interface QuestionServices {
  gateway: Gateway;
  bodies: BodyBudget;
  answers: IdempotencyService;
  /** Default: none. */
  prices?: Prices;
  inner: { handler?: RequestListener };
}

export function questionRoutes(services: QuestionServices): Route[] {
  return [
    defineRoute({
      ...LINK_ROUTE,
      method: 'POST',
      path: ANSWERS_PATH,
      endpoint: 'extractAnswers',
      summary: 'Ask a link',
      description:
        'Answers a question about a public link from its data and what is said in it, with the source of each statement. Needs the grants `extract` and `text`; it costs the link and the tokens of the model.',
      body: {
        schema: QuestionBody,
        example: { url: EXAMPLE_LINK, question: 'What does the speaker recommend, and when?' },
      },
      answers: { 200: { description: 'The answer.', name: 'LinkAnswer', schema: Answer } },
      errors: [...REFUSALS, ...MODEL_ERRORS, 'answer_unusable'],
      handler: (context) => answer(context, services),
    }),
  ];
}

async function answer(context: RequestContext, services: QuestionServices): Promise<void> {
  const { gateway, bodies, answers } = services;
  const { req: request, res: response, state } = context;
  const key = keyOf(context);
  const limits = { maxBytes: MAX_BODY_BYTES, budget: bodies, owner: quotaSubject(key), fingerprinted: false };
  const { value } = await readJson(request, response, limits);
  if (typeof value.url === 'string') state.link = { inputUrl: value.url.slice(0, 2_048) };
  const question = checkQuestion(value);
  if (!key.grants.includes('text')) {
    throw new GatewayError('route_not_allowed', 'A question about a link also needs the grant text.');
  }
  const model = question.model ?? chooseModel(gateway, key, ({ routes = [] }) => routes.includes('chat_completions'));
  // Before the link, which costs: a mock repeats what it reads, and answers nothing.
  if (isMockModel(gateway, model)) {
    const message = `No language model is connected: ${model} is a mock, which cannot answer questions. TEXT_UPSTREAM_URL connects one.`;
    throw new GatewayError('model_not_supported', message, { param: 'model' });
  }
  const { handler } = services.inner;
  if (!handler) throw new Error('a request came before the app existed');
  const signal = clientSignal(response);
  const callRoute = createCallRoute(handler, { request, requestId: state.requestId, signal });
  const document = await readDocument(callRoute, question);
  state.link = { inputUrl: question.url, platform: document.json.platform };
  passCost(context, services, document);
  const source = readSource(document.json.data);
  const same = JSON.stringify([key.accountId, [...source.fields], source.segments, question, model]);
  const fingerprint = hashText(same);
  const asked = { route: ANSWERS_PATH, key: `question-${fingerprint}`, fingerprint };
  await answers.answer(context, asked, async ({ signal: ended, send }) => {
    const checked = await ask({ context, services, callRoute, ended }, { question, source, model });
    const body = Buffer.from(JSON.stringify(encode(document.json, question, { model, checked, source })));
    await send({ contentType: JSON_TYPE, body: Readable.from([body]) });
  });
}

/** The document of the link, with what is said in it. */
async function readDocument(
  callRoute: CallRoute,
  { url, transcript_languages: languages }: Question,
): Promise<CallAnswer> {
  const body = {
    url,
    include_transcript: true,
    include_audio_mp3: false,
    ...(languages && { transcript_languages: languages }),
  };
  return refused(callRoute({ method: 'POST', path: '/v1/extract', body }));
}

interface Asking {
  context: RequestContext;
  services: QuestionServices;
  callRoute: CallRoute;
  ended: AbortSignal;
}

/** @throws GatewayError `answer_unusable`, and those of the route of chats. */
async function ask(
  { context, services, callRoute, ended }: Asking,
  { question, source, model }: { question: Question; source: SourceText; model: string },
): Promise<CheckedAnswer> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const body = { model, messages: createMessages(question, source), max_completion_tokens: MAX_OUTPUT_TOKENS };
    const completion = await refused(callRoute({ method: 'POST', path: '/v1/chat/completions', body }, ended));
    passCost(context, services, completion);
    const text = completion.json?.choices?.[0]?.message?.content;
    const checked = typeof text === 'string' ? readAnswer(text, question, source) : undefined;
    if (checked) return checked;
  }
  throw unusable(model);
}

/** What a route refuses is the error of the question. */
async function refused(work: Promise<CallAnswer>): Promise<CallAnswer> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof RouteFailure)) throw error;
    const { code, message, param, reason, retryAfterSeconds } = error;
    const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'upstream_error';
    throw new GatewayError(known, message, {
      ...(param !== null && { param }),
      ...(reason !== undefined && { reason }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    });
  }
}

/** Adds the cost of a part to that of the answer. */
function passCost({ res: response }: RequestContext, { prices }: QuestionServices, part: CallAnswer): void {
  const [amount] = (part.header('x-mediagate-cost') ?? '').split(' ');
  if (prices && amount && !response.headersSent) addCost(response, prices, Math.round(Number(amount) * 1_000_000));
}

function encode(
  // biome-ignore lint/suspicious/noExplicitAny: the documents of all platforms
  document: any,
  { url, question }: Question,
  { model, checked, source }: { model: string; checked: CheckedAnswer; source: SourceText },
) {
  const { answer: text, data, claims, unsupported } = checked;
  const notes = [
    ...(unsupported > 0 ? [`claims_unsupported: ${unsupported}`] : []),
    ...(source.isShortened ? ['source_shortened'] : []),
  ];
  return {
    ok: true,
    platform: document.platform,
    input_url: url,
    question,
    model,
    content_from_outside: true,
    answer: text,
    ...(data && { data }),
    claims,
    transcript_source: document.data.transcript?.source ?? null,
    limitations: [...document.limitations, ...notes],
  };
}
