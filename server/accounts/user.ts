/*
 * The routes of the signed-in user's account under `/api/user`: overview, and creating, changing, rotating and revoking
 * API keys. A key is shown only in the answer that creates it, or in the repetition of that request with the same session
 * and `Idempotency-Key`. Bodies are read only with a session and are at most 16 KiB. A user may make 20 keys a minute,
 * because each new key may begin with an unused rate limit of its own, and change 60.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import type { Budgets } from '../budgets/index.js';
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
  KeyService,
  type KeyTable,
  type MadeKey,
  type Pepper,
  type Repeat,
} from '../keys/index.js';
import { freeTierTerms, type PlanTerms, type PlanTermsOptions } from '../plans/index.js';
import type { Prices } from '../prices/index.js';
import { readRangeQuery } from '../usage/index.js';
import { type AccountView, encodeOverview, encodeOwnedKey } from './account-view.js';
import {
  decodeKeyBody,
  decodeKeyChange,
  decodeRevocationBody,
  decodeRotationBody,
  KeyBodySchema,
  KeyChangeSchema,
  MAX_KEY_BODY_BYTES,
  RevocationBodySchema,
  RotationBodySchema,
} from './key-bodies.js';
import { AccountPlanSchema, asItStands, KeySchema, UserSchema } from './setup.js';
import { type AccountServices, tokenOf } from './sign-in/sessions.js';

/** Limit per user: each new key, including rotated ones, starts with a fresh rate limit. */
const KEYS_PER_MINUTE = 20;
const CHANGES_PER_MINUTE = 60;

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
  budgets: Budgets;
  /** Default: there are no prices. */
  prices?: Prices;
  pepper: Pepper;
  view: AccountView;
}

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
  description:
    'Creates the first API key and shows it, only once. 409 if the account has a valid key. Without limits of its own it has those of the plan.',
  body: { schema: KeyBodySchema, example: { name: 'laptop' } },
  errors: [...KEY_ERRORS, 'invalid_value', 'key_exists'],
};

const MAKE_FURTHER: RouteDeclaration = {
  ...COMMON,
  ...MAKES_KEY,
  path: '/api/user/keys',
  endpoint: 'userKeys',
  summary: 'Create an API key',
  description:
    'Creates another API key and shows it, only once. An account has at most ten valid keys. A key may have narrower limits than the plan.',
  body: {
    schema: KeyBodySchema,
    example: {
      name: 'nightly import',
      grants: ['extract'],
      rpm: 10,
      expiresInDays: 90,
      budgets: ['1000 requests/day'],
    },
  },
  errors: [...KEY_ERRORS, 'invalid_value', 'too_many_keys'],
};

const KEY_ID = { id: { description: 'Id of the key: 8 characters.', example: 'AbCd1234' } };

const CHANGE: RouteDeclaration = {
  ...COMMON,
  method: 'POST',
  path: '/api/user/keys/:id',
  endpoint: 'userKeyChange',
  parameter: 'key_id',
  params: KEY_ID,
  summary: 'Change an API key',
  description:
    'Changes name, limits and budgets of a valid key within the plan. Fields that are left out stay; null is as the plan.',
  body: { schema: KeyChangeSchema, example: { rpm: 10, models: null, budgets: ['2M tokens/month'] } },
  answers: asItStands(Type.Object({ key: field(KeySchema, 'The changed key.') })),
  errors: ['invalid_value', 'key_not_found', 'key_replaced', 'rate_limit_exceeded'],
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
  params: KEY_ID,
  summary: 'Revoke an API key',
  description: 'Revokes an API key and cancels its queued and running jobs; `jobs: "keep"` keeps them for the account.',
  body: { schema: RevocationBodySchema, example: { jobs: 'cancel' } },
  answers: asItStands(Type.Object({ key: field(KeySchema, 'The revoked key.') })),
  errors: ['key_not_found'],
};

/** The account of the signed-in user, and its API keys. */
export function userRoutes(services: UserServices): Route[] {
  const { accountKeys, keys: table, budgets, catalogue, freeTierPeriod, pepper, site } = services;
  const { sessions, view, bodies, polls, clock, siblings, gateway, prices } = services;
  const freeTier = () => freeTierTerms({ catalogue, freeTierPeriod });
  const keyService = new KeyService({ keys: accountKeys, budgets, table, freeTier, pepper, clock });
  const keysMade = new AddressLimit({
    clock,
    siblings,
    name: 'new keys',
    perMinute: KEYS_PER_MINUTE,
    what: 'Too many new keys',
  });
  const keysChanged = new AddressLimit({
    clock,
    siblings,
    name: 'changed keys',
    perMinute: CHANGES_PER_MINUTE,
    what: 'Too many changes of keys',
  });
  const bodyOptions = () => ({ gateway, prices, now: clock.now() });

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

  async function sendMade(context: RequestContext, { key, record, replayed }: MadeKey, more: object = {}) {
    if (replayed) markReplayed(context.res);
    context.status = 201;
    context.body = { apiKey: key, key: await encode(record), ...more };
  }

  const encode = async (record: ApiKeyRecord) => {
    return encodeOwnedKey({ record, budgets: await budgets.ofKey(record) }, clock.now());
  };

  async function get(context: RequestContext): Promise<void> {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    const now = clock.now();
    const overview = await view.overview(user, readRangeQuery(context.query, now));
    sendJson(context, encodeOverview(overview, { catalogue, now }), 'private');
  }

  async function makeFirst(context: RequestContext): Promise<void> {
    const { body, ...input } = await beginKey(context);
    await sendMade(context, await keyService.makeFirst({ ...input, ...decodeKeyBody(body, bodyOptions()) }));
  }

  async function makeFurther(context: RequestContext): Promise<void> {
    const { body, ...input } = await beginKey(context);
    await sendMade(context, await keyService.makeFurther({ ...input, ...decodeKeyBody(body, bodyOptions()) }));
  }

  async function rotate(context: RequestContext): Promise<void> {
    const { body, ...input } = await beginKey(context);
    const made = await keyService.rotate({ ...input, ...decodeRotationBody(body) });
    await sendMade(context, made, { replaced: await encode(made.replaced) });
  }

  async function change(context: ParamsContext): Promise<void> {
    const { user } = await sessions.require(context);
    keysChanged.admit(user.id);
    const { accountId, actor, body } = await begin(context);
    const id = paramOf(context, 'id');
    const record = await keyService.change({ accountId, actor, id, ...decodeKeyChange(body, bodyOptions()) });
    context.body = { key: await encode(record) };
  }

  async function revoke(context: ParamsContext): Promise<void> {
    const { accountId, actor, body } = await begin(context);
    const keepsJobs = decodeRevocationBody(body);
    const record = await keyService.revoke({ accountId, actor, id: paramOf(context, 'id'), keepsJobs });
    context.body = { key: await encode(record) };
  }

  return [
    { ...GET, handler: get },
    { ...MAKE_FIRST, handler: makeFirst },
    { ...MAKE_FURTHER, handler: makeFurther },
    { ...ROTATE, handler: rotate },
    { ...CHANGE, handler: change },
    { ...REVOKE, handler: revoke },
  ];
}

/** A request is the same one again if session and Idempotency-Key are the same. */
function repeatOf(context: RequestContext, site: SiteAddress): Repeat | undefined {
  const key = readIdempotencyKey(context.req.headers);
  const token = tokenOf(context, site);
  return key !== undefined && token ? { secret: token.token, key } : undefined;
}
