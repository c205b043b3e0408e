import { type TSchema, Type } from 'mediagate';
import { KeyBodySchema, RotationBodySchema } from '../accounts/index.js';
import { MAX_WAIT_SECONDS } from '../http/index.js';
import { PaymentBodySchema } from '../payments/index.js';
import { answerSchema } from './answer-schemas.js';
import { IDEMPOTENCY, type Operation, type Operations, page } from './operation.js';

const Text = Type.String();
const Nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);

const Key = Type.Object({
  id: Text,
  name: Text,
  maskedKey: Text,
  state: Text,
  planId: Nullable(Text),
  grants: Type.Array(Text),
  rpm: Nullable(Type.Integer()),
  createdAt: Text,
  expiresAt: Nullable(Text),
});
const Session = Type.Object({
  authenticated: Type.Boolean(),
  loginUrl: Type.Optional(Text),
  instruction: Type.Optional(Text),
  user: Type.Optional(Type.Object({ id: Text, email: Nullable(Text), name: Nullable(Text) })),
});
const Payment = Type.Object({
  code: Text,
  status: Text,
  amount: Type.Integer({ description: 'In the minor unit of its currency.' }),
  currency: Type.String({ description: 'ISO 4217' }),
  expiresAt: Text,
  paidAt: Nullable(Text),
  paidAmount: Type.Integer(),
});

function account(summary: string, schema: TSchema, more: Partial<Operation> = {}): Operation {
  const answers = { 200: { description: 'As it stands.', schema } };
  return { tag: 'Account', summary, access: 'session', answers, ...more };
}

function payment(summary: string, schema: TSchema, more: Partial<Operation> = {}): Operation {
  return { ...account(summary, schema, more), tag: 'Payments' };
}

const made = (schema: TSchema) => ({ 201: { description: 'Made. The key is shown this once.', schema } });
const MadeKey = Type.Object({ apiKey: Text, key: Key });
const KEYS = ['idempotency_key_reused', 'invalid_idempotency_key', 'account_suspended', 'rate_limit_exceeded'] as const;

export const ACCOUNTS: Operations = {
  'GET /api/agent/manifest': account(
    'What the service is: addresses, plans, models, clients',
    Type.Object({ name: Text, version: Text, baseUrl: Text, endpoints: Type.Object({}) }),
    { access: 'none' },
  ),
  'GET /api/agent/plans': account(
    'The plans, the free tier, support',
    Type.Object({ version: Text, plans: Type.Array(Type.Object({ id: Text, name: Text })), freeTier: Type.Object({}) }),
    { access: 'none' },
  ),
  'GET /api/agent/session': account('Who is signed in', Session, { access: 'none' }),
  'DELETE /api/agent/session': account('Ends the session', Session),
  'DELETE /api/agent/sessions': account('Ends all sessions of the user', Session),
  'POST /api/agent/session': account('The same for clients that cannot send DELETE', Session, {
    body: { schema: Type.Object({}) },
  }),
  'GET /api/agent/setup': account('How clients are set up; as Markdown on request', Type.Object({ baseUrl: Text }), {
    access: 'none',
    query: { client: { schema: Text, description: 'One kind of client alone.' } },
  }),
  'POST /api/agent/device': account(
    'Begins the device flow (RFC 8628)',
    Type.Object({ device_code: Text, user_code: Text, verification_uri: Text, expires_in: Type.Integer() }),
    {
      access: 'none',
      body: { schema: Type.Object({ client_id: Text }), example: { client_id: 'Shipyard CLI' } },
      errors: ['rate_limit_exceeded'],
    },
  ),
  'POST /api/agent/device/token': account(
    'Asked until the person has answered',
    Type.Object({ access_token: Text, token_type: Text, expires_in: Type.Integer() }),
    {
      access: 'none',
      body: { schema: Type.Object({ grant_type: Text, client_id: Text, device_code: Text }) },
      errors: ['rate_limit_exceeded'],
    },
  ),
  'GET /api/user': account(
    'Profile, plan, keys and usage',
    Type.Object({ user: Type.Object({ id: Text }), plan: Nullable(Type.Object({})), keys: Type.Array(Key) }),
    { query: { from: { schema: Text, description: 'First day.' }, to: { schema: Text, description: 'Last day.' } } },
  ),
  'POST /api/user': account('Makes the first key', MadeKey, {
    headers: IDEMPOTENCY,
    body: { schema: KeyBodySchema, example: { name: 'laptop' } },
    answers: made(MadeKey),
    errors: [...KEYS, 'key_exists'],
  }),
  'DELETE /api/user': account('Revokes every key', Type.Object({ revoked: Type.Array(Key) })),
  'POST /api/user/keys': account('Makes one more key', MadeKey, {
    headers: IDEMPOTENCY,
    body: { schema: KeyBodySchema, example: { name: 'nightly import' } },
    answers: made(MadeKey),
    errors: [...KEYS, 'too_many_keys'],
  }),
  'POST /api/user/rotate': account('Replaces a key', MadeKey, {
    headers: IDEMPOTENCY,
    body: { schema: RotationBodySchema, example: { overlapHours: 24 } },
    answers: made(MadeKey),
    errors: [...KEYS, 'key_not_found', 'key_replaced'],
  }),
  'POST /api/user/keys/:id/revoke': account('Revokes a key', Type.Object({ key: Key }), {
    body: { schema: Type.Object({}, { additionalProperties: false }) },
    errors: ['key_not_found'],
  }),
};

const One = Type.Object({ payment: Payment });
const picture = (type: string) => ({ 200: { description: 'The picture.', type } });

export const PAYMENTS: Operations = {
  'POST /api/agent/payment': payment('Orders a plan', One, {
    headers: IDEMPOTENCY,
    body: { schema: PaymentBodySchema, example: { planId: 'token_30m' } },
    answers: { 201: { description: 'What to transfer, and where to.', schema: One } },
    errors: ['price_not_configured', 'too_many_open_orders', 'idempotency_key_reused', 'rate_limit_exceeded'],
  }),
  'GET /api/agent/payment': payment('Orders, newest first', Type.Object({ payments: Type.Array(Payment) })),
  'GET /api/agent/payment/:code': payment('One of them', One, { errors: ['order_not_found'] }),
  'POST /api/agent/payment/:code/cancel': payment('Cancels one for which no money has come', One, {
    body: { schema: Type.Object({}) },
    errors: ['order_not_found', 'order_state_conflict'],
  }),
  'GET /api/agent/payment/:code/qr.svg': payment('QR code of an open order', Text, {
    answers: picture('image/svg+xml'),
    errors: ['order_not_found', 'order_state_conflict'],
  }),
  'GET /api/agent/payment/:code/qr.png': payment('The same as PNG', Text, {
    answers: picture('image/png'),
    errors: ['order_not_found', 'order_state_conflict'],
  }),
  'GET /api/payment/gateway': payment('How an order stands', One, {
    access: 'none',
    query: {
      code: { schema: Text, description: 'Code of the order.', required: true },
      wait: {
        schema: Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS }),
        description: 'Seconds to hold on while nothing changes.',
      },
    },
    errors: ['order_not_found', 'rate_limit_exceeded'],
  }),
  'POST /api/payment/webhook/:provider': payment('Where banks tell of transfers', Type.Object({}), {
    access: 'signature',
    body: { schema: Type.Object({}) },
  }),
};

const health = (summary: string, access: Operation['access'] = 'none'): Operation => ({
  tag: 'Process',
  summary,
  access,
  answers: { 200: { description: 'As it is.', schema: answerSchema('Health') } },
});

const form = (summary: string, fields: Readonly<Record<string, string>>): Operation => ({
  tag: 'Pages',
  summary,
  access: 'session',
  body: {
    type: 'application/x-www-form-urlencoded',
    schema: Type.Object(
      Object.fromEntries(Object.entries(fields).map(([name, description]) => [name, Type.String({ description })])),
    ),
  },
  answers: { 200: { description: 'A page that says so.', type: 'text/html' }, 303: { description: 'Done.' } },
});

const leads = (summary: string): Operation => ({
  tag: 'Pages',
  summary,
  access: 'none',
  answers: { 303: { description: 'To the next step.' } },
  errors: ['sign_in_failed', 'sign_in_unavailable'],
});

const file = (summary: string): Operation => ({
  tag: 'Pages',
  summary,
  access: 'none',
  answers: { 200: { description: 'The file.', type: '*/*' } },
  errors: ['file_not_found'],
});

export const SITE: Operations = {
  'GET /health': health('How the process and each platform are'),
  'GET /health/live': health('The process answers'),
  'GET /health/ready': {
    ...health('Whether requests may be sent here'),
    answers: {
      200: { description: 'They may.', schema: answerSchema('Health') },
      503: { description: 'They may not: it ends, or the database is away.', schema: answerSchema('Health') },
    },
  },
  'GET /metrics': {
    tag: 'Process',
    summary: 'Figures for Prometheus',
    access: 'none',
    answers: { 200: { description: 'In its text format.', type: 'text/plain' } },
  },
  'GET /openapi.json': {
    tag: 'Process',
    summary: 'This document',
    access: 'none',
    answers: { 200: { description: 'OpenAPI 3.1.', schema: Type.Object({ openapi: Type.String() }) } },
  },
  'GET /': page('First page'),
  'GET /login': page('Who signs people in'),
  'GET /plans': page('The plans'),
  'GET /setup': page('A setup for each kind of client'),
  'GET /docs': page('This reference'),
  'GET /docs/:version/:name': file('A file of the viewer of this reference'),
  'GET /dashboard': page('Keys, plan, usage, jobs', 'session'),
  'GET /playground': page('Links, images and models, tried out', 'session'),
  'GET /pay/:code': page('An order, and how it is paid', 'session'),
  'GET /device': page('Which program asks to be let in', 'session'),
  'GET /assets/:version/:name': file('A file of the pages'),
  'GET /signin': leads('Leads to the identity provider'),
  'GET /signin/callback': leads('Where the identity provider sends people back to'),
  'POST /signout': form('Ends the session', {}),
  'POST /signout/everywhere': form('Ends all sessions of the user', {}),
  'POST /device': form('Lets a program in or refuses it', {
    user_code: 'The code that the program shows.',
    answer: '`approve` or `deny`.',
  }),
};
