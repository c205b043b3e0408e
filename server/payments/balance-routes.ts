/*
 * The routes of the prepaid balance of the signed-in user: what is in it, what may be topped up at which rates, its
 * statement in pages, and the whole statement as CSV. A top-up itself is an order, by the id of the package.
 */

import { Readable } from 'node:stream';
import { field, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  type AccountServices,
  asItStands,
  encodeTopUps,
  ModelRateSchema,
  TopUpSchema,
  type UserRecord,
} from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import {
  Nullable,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  sendJson,
  Text,
  Time,
} from '../http/index.js';
import { decimal, type StatementLine } from '../ledger/index.js';
import type { PaymentService } from './payment-service.js';

const LINES = 50;

const Amount = (description: string) => field(Text, `${description} A decimal number.`, '7.25');
const Balance = Type.Object({
  currency: field(Text, 'Currency (ISO 4217).', 'EUR'),
  amount: Amount('What is in the balance.'),
  reserved: Amount('Reserved for running requests.'),
  free: Amount('What further requests may use.'),
  onHoldSince: field(Nullable(Time), 'Since when it pays nothing (RFC 3339). Null if it pays.'),
});
const Line = Type.Object({
  number: field(Type.Integer(), 'Counts the movements of the balance from 1.'),
  at: field(Time, 'When it happened (RFC 3339).'),
  kind: field(Text, '`top_up`, `usage`, `correction`, `refund` or `adjustment`.', 'usage'),
  amount: Amount('What came in; below 0 is what was paid.'),
  balance: Amount('What was left afterwards.'),
  reference: field(Text, 'Code of the order, id of the request or of the job.'),
  note: field(Text, 'Package, model or platform.'),
});

const COMMON = { grant: 'session', tag: 'Payments', method: 'GET' } as const;

const BALANCE: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/balance',
  endpoint: 'balance',
  summary: 'Get the prepaid balance',
  description: 'Returns the prepaid balance of the account, its latest movements, and what may be topped up.',
  query: {
    before: {
      schema: Type.Integer({ minimum: 1 }),
      description: 'Number of a movement: those before it. Default: the latest.',
    },
  },
  answers: asItStands(
    Type.Object({
      balance: field(Nullable(Balance), 'The balance. Null if there is none.'),
      eligible: field(Type.Boolean(), 'Whether the account may top up.'),
      packages: field(Type.Array(TopUpSchema), 'What may be topped up; order one by its id at `/api/agent/payment`.'),
      ratesPerMillionTokens: field(Type.Array(ModelRateSchema), 'What a million tokens cost.'),
      statement: field(Type.Array(Line), `The latest ${LINES} movements, newest first.`),
    }),
  ),
};

const STATEMENT: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/balance/statement.csv',
  endpoint: 'balanceStatement',
  summary: 'Statement of the balance as CSV',
  description: 'Returns all movements of the prepaid balance, oldest first, as CSV.',
  answers: { 200: { description: 'The statement.', type: 'text/csv' } },
};

export function balanceRoutes({ payments, sessions, polls }: AccountServices & { payments: PaymentService }): Route[] {
  async function begin(context: RequestContext): Promise<UserRecord> {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    return user;
  }

  async function sendBalance(context: RequestContext): Promise<void> {
    const user = await begin(context);
    const before = readBefore(context.query.before);
    const [found, topUps, lines] = await Promise.all([
      payments.balanceOf(user),
      payments.topUpsFor(user),
      payments.statement(user, LINES, before),
    ]);
    const balance = found && {
      currency: found.currency,
      amount: decimal(found.amount),
      reserved: decimal(found.reserved),
      free: decimal(found.free),
      onHoldSince: isoTime(found.heldAt),
    };
    const { rates } = payments.payAsYouGo;
    const offered = encodeTopUps({ topUps, rates: topUps.length > 0 ? rates : [] });
    const eligible = topUps.length > 0;
    sendJson(context, { balance: balance ?? null, eligible, ...offered, statement: lines.map(encodeLine) }, 'private');
  }

  async function sendStatement(context: RequestContext): Promise<void> {
    const user = await begin(context);
    context.set('Content-Type', 'text/csv; charset=utf-8');
    context.set('Content-Disposition', 'attachment; filename="balance.csv"');
    context.set('Cache-Control', 'private, no-store');
    context.body = Readable.from(payments.statementCsv(user));
  }

  return [
    { ...BALANCE, handler: sendBalance },
    { ...STATEMENT, handler: sendStatement },
  ];
}

function encodeLine({ number, at, kind, amount, left, reference, note }: StatementLine) {
  return { number, at: isoTime(at), kind, amount: decimal(amount), balance: decimal(left), reference, note };
}

function readBefore(text: string | string[] | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (typeof text === 'string' && /^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new GatewayError('invalid_value', 'before must be the number of a movement.', { param: 'before' });
}
