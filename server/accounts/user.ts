/*
 * The routes of the signed-in user's account under `/api/user`: overview, and creating, rotating and revoking API keys.
 * A key is shown only in the answer that creates it, or in the repetition of that request with the same session and
 * `Idempotency-Key`. Bodies are read only with a session, are at most 4 KiB, and are refused if they have an unknown
 * field. A user may make 20 keys a minute, because each new key begins with an unused rate limit.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { createValidator, GatewayError, type Validator } from '../../core/runtime/index.js';
import { isVisible } from '../format/index.js';
import {
  AddressLimit,
  Count,
  Nullable,
  OneOf,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJsonBody,
  type SiteAddress,
  sendJson,
  Text,
  Time,
} from '../http/index.js';
import { IDEMPOTENCY_HEADER, markReplayed, readIdempotencyKey } from '../idempotency/index.js';
import {
  type ApiKeyRecord,
  type ApiKeys,
  encodeKey,
  KeyService,
  type KeyTable,
  type MadeKey,
  type Pepper,
  type Repeat,
} from '../keys/index.js';
import { freeTierTerms, type PlanTerms, type PlanTermsOptions } from '../plans/index.js';
import { readRangeQuery } from '../usage/index.js';
import { type AccountView, encodeOverview } from './account-view.js';
import { type AccountServices, tokenOf } from './sessions.js';
import { AccountPlanSchema, asItStands, KeySchema, UserSchema } from './setup.js';

/** Limit per user: each new key, including rotated ones, starts with a fresh rate limit. */
const KEYS_PER_MINUTE = 20;

const KEY_ERRORS = [
  'idempotency_key_reused',
  'invalid_idempotency_key',
  'account_suspended',
  'rate_limit_exceeded',
] as const;
const MadeKeySchema = Type.Object({
  apiKey: field(Text, 'The key. It is shown only in this response.'),
  key: field(KeySchema, 'The key without its secret.'),
  replaced: optional(KeySchema, 'The key that it replaces. Only after a rotation.'),
});

const limited = (what: string) => ({
  limit: field(Nullable(Type.Integer()), `Allowed ${what}. Null if unlimited.`),
  used: field(Type.Integer(), `Used ${what}.`),
  left: field(Nullable(Type.Integer()), `Remaining ${what}. Null if unlimited.`),
});
const COUNT_FIELDS = {
  requests: field(Count, 'Requests.'),
  failed: field(Count, 'Requests that failed.'),
  estimated: field(Count, 'Requests whose tokens were estimated, because the model reported none.'),
  inputTokens: field(Count, 'Input tokens.'),
  cachedTokens: field(Count, 'Input tokens that the model vendor had cached.'),
  outputTokens: field(Count, 'Output tokens.'),
  reasoningTokens: field(Count, 'Output tokens of the reasoning.'),
  characters: field(Count, 'Characters of speech.'),
  seconds: field(Type.Number(), 'Seconds of audio.'),
  images: field(Count, 'Images.'),
  bytes: field(Count, 'Bytes that media links sent.'),
};
const OverviewSchema = Type.Object({
  user: field(
    Type.Object({ ...UserSchema.properties, createdAt: field(Time, 'When the user first signed in (RFC 3339).') }),
    'The signed-in user.',
  ),
  account: field(
    Type.Object({
      id: field(Text, 'Id of the account.'),
      createdAt: field(Time, 'When the account was created (RFC 3339).'),
    }),
    'The account of the user.',
  ),
  plan: field(Nullable(AccountPlanSchema), 'The plan of the account. Null if it has none yet.'),
  budget: field(
    Nullable(
      Type.Object({
        resets: field(OneOf('never', 'month', 'day'), 'When the usage is reset (UTC).'),
        expiresAt: field(Nullable(Time), 'When the budget ends (RFC 3339). Null if never.'),
        requests: field(Type.Object(limited('requests')), 'Model requests.'),
        tokens: field(
          Type.Object({
            ...limited('tokens'),
            reserved: field(Type.Integer(), 'Tokens reserved for running requests.'),
          }),
          'Input and output tokens.',
        ),
        tokensToday: field(Type.Object(limited('tokens of this day (UTC)')), 'Tokens of this day (UTC).'),
      }),
    ),
    'The budget of model requests. Null if it is unlimited.',
  ),
  imagesToday: field(
    Nullable(Type.Object(limited('images of this day (UTC)'))),
    'Images of this day (UTC). Null if they are unlimited.',
  ),
  key: field(Nullable(KeySchema), 'The newest valid key. Null if there is none.'),
  keys: field(Type.Array(KeySchema), 'The keys, newest first, including some that are no longer valid.'),
  usage: field(
    Type.Object({
      from: field(Text, 'First day (UTC).', '2026-06-15'),
      to: field(Text, 'Last day (UTC).', '2026-06-30'),
      total: field(Type.Object(COUNT_FIELDS), 'Usage of the range.'),
      days: field(
        Type.Array(
          Type.Object({
            day: field(Text, 'Day (UTC).', '2026-06-15'),
            ...COUNT_FIELDS,
            models: field(
              Type.Array(
                Type.Object({
                  keyId: field(Text, 'Id of the key.'),
                  route: field(Text, 'Path of the route.', '/v1/chat/completions'),
                  model: field(Text, 'Id of the model, or platform key of link data.', 'm-5.5'),
                  ...COUNT_FIELDS,
                }),
              ),
              'Usage of the day by key, route and model.',
            ),
          }),
        ),
        'Days with usage, newest first.',
      ),
    }),
    'Usage of the range: in total, and by day, key, route and model.',
  ),
});

/** Declarations that all routes that make a key share. */
const MAKES_KEY = {
  method: 'POST',
  headers: IDEMPOTENCY_HEADER,
  answers: { 201: { description: 'The new key. It is shown only once.', schema: MadeKeySchema } },
} as const;

interface UserServices extends AccountServices, PlanTermsOptions {
  accountKeys: ApiKeys<PlanTerms>;
  keys: KeyTable;
  pepper: Pepper;
  view: AccountView;
}

const HOUR_MS = 3_600_000;
const MAX_NAME = 100;
const DEFAULT_NAME = 'default';
const DEFAULT_OVERLAP_HOURS = 24;
/** Of a rotated key: a week. */
export const MAX_OVERLAP_HOURS = 168;

export const MAX_KEY_BODY_BYTES = 4_096;

const strict = { additionalProperties: false } as const;

/** Body of `POST /api/user` and `POST /api/user/keys`. */
export const KeyBodySchema = Type.Object(
  { name: optional(Type.String({ maxLength: MAX_NAME }), `Name of the key. Default "${DEFAULT_NAME}".`) },
  strict,
);

/** Body of `POST /api/user/rotate`. */
export const RotationBodySchema = Type.Object(
  {
    keyId: optional(
      Type.String({ pattern: '^[0-9A-Za-z]{8}$' }),
      'Id of the key to replace; needed if the account has several. Default: its only one.',
    ),
    overlapHours: optional(
      Type.Number({ minimum: 0, maximum: MAX_OVERLAP_HOURS }),
      `Hours for which the old key keeps working, at most ${MAX_OVERLAP_HOURS}. Default ${DEFAULT_OVERLAP_HOURS}.`,
    ),
  },
  strict,
);

const RevocationBodySchema = Type.Object(
  {
    jobs: optional(
      OneOf('cancel', 'keep'),
      'Whether queued and running jobs of the key are cancelled, or kept for the account. Default `cancel`.',
    ),
  },
  { additionalProperties: false },
);

const COMMON = { grant: 'session', tag: 'Account' } as const;

const GET: RouteDeclaration = {
  ...COMMON,
  method: 'GET',
  path: '/api/user',
  endpoint: 'user',
  summary: 'Get the account',
  description:
    'Returns the profile, the plan and what is left of it, the keys (masked) and the usage. `?from=&to=` select the days.',
  query: {
    from: { schema: Text, description: 'First day by UTC, e.g. 2026-06-15. Default: 30 days.' },
    to: { schema: Text, description: 'Last day by UTC. Default: today.' },
  },
  answers: asItStands(OverviewSchema),
};

const MAKE_FIRST: RouteDeclaration = {
  ...COMMON,
  ...MAKES_KEY,
  path: '/api/user',
  endpoint: 'user',
  summary: 'Create the first API key',
  description: 'Creates the first API key and shows it, only once. 409 if the account has a valid key.',
  body: { schema: KeyBodySchema, example: { name: 'laptop' } },
  errors: [...KEY_ERRORS, 'key_exists'],
};

const MAKE_FURTHER: RouteDeclaration = {
  ...COMMON,
  ...MAKES_KEY,
  path: '/api/user/keys',
  endpoint: 'userKeys',
  summary: 'Create an API key',
  description: 'Creates another API key and shows it, only once. An account has at most ten valid keys.',
  body: { schema: KeyBodySchema, example: { name: 'nightly import' } },
  errors: [...KEY_ERRORS, 'too_many_keys'],
};

const ROTATE: RouteDeclaration = {
  ...COMMON,
  ...MAKES_KEY,
  path: '/api/user/rotate',
  endpoint: 'userKeyRotate',
  summary: 'Rotate an API key',
  description: 'Replaces an API key. The old one keeps working for `overlapHours` (24).',
  body: { schema: RotationBodySchema, example: { keyId: 'AbCd1234', overlapHours: 24 } },
  errors: [...KEY_ERRORS, 'key_not_found', 'key_replaced'],
};

const REVOKE: RouteDeclaration = {
  ...COMMON,
  method: 'POST',
  path: '/api/user/keys/:id/revoke',
  endpoint: 'userKeyRevoke',
  parameter: 'key_id',
  params: { id: { description: 'Id of the key: 8 characters.', example: 'AbCd1234' } },
  summary: 'Revoke an API key',
  description: 'Revokes an API key and cancels its queued and running jobs; `jobs: "keep"` keeps them for the account.',
  body: { schema: RevocationBodySchema, example: { jobs: 'cancel' } },
  answers: asItStands(Type.Object({ key: field(KeySchema, 'The revoked key.') })),
  errors: ['key_not_found'],
};

/** The account of the signed-in user, and its API keys. */
export function userRoutes(services: UserServices): Route[] {
  const { accountKeys, keys: table, catalogue, freeTierPeriod, pepper, site } = services;
  const { sessions, view, bodies, polls, clock, siblings } = services;
  const freeTier = () => freeTierTerms({ catalogue, freeTierPeriod });
  const keyService = new KeyService({ keys: accountKeys, table, freeTier, pepper, clock });
  const keysMade = new AddressLimit({
    clock,
    siblings,
    name: 'new keys',
    perMinute: KEYS_PER_MINUTE,
    what: 'Too many new keys',
  });

  async function beginKey(context: RequestContext) {
    const { user } = await sessions.require(context);
    keysMade.admit(user.id);
    return begin(context);
  }

  /** The account and the decoded body. Reads the body only with a session. */
  async function begin(context: RequestContext) {
    const { req: request, res: response } = context;
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    const limits = { maxBytes: MAX_KEY_BODY_BYTES, budget: bodies, owner: user.accountId };
    const body = await readJsonBody(request, response, limits);
    return { accountId: user.accountId, actor: `user:${user.id}`, body, repeat: repeatOf(context, site()) };
  }

  function sendMade(context: RequestContext, { key, record, replayed }: MadeKey, more: object = {}): void {
    if (replayed) markReplayed(context.res);
    context.status = 201;
    context.body = { apiKey: key, key: encodeMade(record), ...more };
  }

  const encodeMade = (record: ApiKeyRecord) => encodeKey(record, clock.now());

  async function get(context: RequestContext): Promise<void> {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    const now = clock.now();
    const overview = await view.overview(user, readRangeQuery(context.query, now));
    sendJson(context, encodeOverview(overview, { catalogue, now }), 'private');
  }

  async function makeFirst(context: RequestContext): Promise<void> {
    const { body, ...input } = await beginKey(context);
    sendMade(context, await keyService.makeFirst({ ...input, name: decodeKeyBody(body) }));
  }

  async function makeFurther(context: RequestContext): Promise<void> {
    const { body, ...input } = await beginKey(context);
    sendMade(context, await keyService.makeFurther({ ...input, name: decodeKeyBody(body) }));
  }

  async function rotate(context: RequestContext): Promise<void> {
    const { body, ...input } = await beginKey(context);
    const made = await keyService.rotate({ ...input, ...decodeRotationBody(body) });
    sendMade(context, made, { replaced: encodeKey(made.replaced, clock.now()) });
  }

  async function revoke(context: ParamsContext): Promise<void> {
    const { accountId, actor, body } = await begin(context);
    const keepsJobs = decodeRevocationBody(body);
    const record = await keyService.revoke({ accountId, actor, id: paramOf(context, 'id'), keepsJobs });
    context.body = { key: encodeKey(record, clock.now()) };
  }

  return [
    { ...GET, handler: get },
    { ...MAKE_FIRST, handler: makeFirst },
    { ...MAKE_FURTHER, handler: makeFurther },
    { ...ROTATE, handler: rotate },
    { ...REVOKE, handler: revoke },
  ];
}

/** A request is the same one again if session and Idempotency-Key are the same. */
function repeatOf(context: RequestContext, site: SiteAddress): Repeat | undefined {
  const key = readIdempotencyKey(context.req.headers);
  const token = tokenOf(context, site);
  return key !== undefined && token ? { secret: token.token, key } : undefined;
}

/** Whether the jobs of the key are kept. */
function decodeRevocationBody({ jobs = 'cancel', ...rest }: Readonly<Record<string, unknown>>): boolean {
  refuseFields(rest);
  if (jobs === 'cancel' || jobs === 'keep') return jobs === 'keep';
  throw new GatewayError('invalid_value', 'jobs must be "cancel" or "keep".', { param: 'jobs' });
}

function refuseFields(body: Readonly<Record<string, unknown>>): void {
  const [field] = Object.keys(body);
  if (field === undefined) return;
  throw new GatewayError('unsupported_parameter', 'The body has an unknown field.', {
    param: field.slice(0, 100),
  });
}

const keyBody = createValidator(KeyBodySchema);
const rotationBody = createValidator(RotationBodySchema);

const ACCEPTED: Readonly<Record<string, string>> = {
  name: `a string of 1 to ${MAX_NAME} visible characters`,
  keyId: 'a key id of 8 characters',
  overlapHours: `a number from 0 to ${MAX_OVERLAP_HOURS}`,
};

/**
 * The name of the new key.
 * @throws GatewayError `invalid_value`, `unsupported_parameter` with `param`.
 */
export function decodeKeyBody(body: Readonly<Record<string, unknown>>): string {
  const { name: given = DEFAULT_NAME } = check(keyBody, body);
  const name = given.trim();
  // Names are displayed in terminals and tables.
  if (!isVisible(name)) throw unaccepted('name');
  return name;
}

export interface DecodedRotation {
  id?: string;
  overlapMs: number;
}

/** The key to be replaced. @throws GatewayError as {@link decodeKeyBody} does. */
export function decodeRotationBody(body: Readonly<Record<string, unknown>>): DecodedRotation {
  const { keyId, overlapHours = DEFAULT_OVERLAP_HOURS } = check(rotationBody, body);
  return { ...(keyId !== undefined && { id: keyId }), overlapMs: Math.round(overlapHours * HOUR_MS) };
}

/** Types are strict; `null` counts as not sent. */
function check<Body>(validator: Validator<Body>, body: Readonly<Record<string, unknown>>): Body {
  const checked = validator.check(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)));
  if (checked.ok) return checked.value;
  const [issue] = checked.issues;
  if (issue?.keyword !== 'additionalProperties') throw unaccepted(issue?.path ?? '');
  const param = String(issue.params.additionalProperty).slice(0, 100);
  throw new GatewayError('unsupported_parameter', 'The body has an unknown field.', { param });
}

function unaccepted(param: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${ACCEPTED[param]}.`, { param });
}
