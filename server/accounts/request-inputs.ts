/*
 * `/api/user/request-inputs`: whether the request log of the account keeps what its requests asked, and for how many
 * days. It is off until the user turns it on. Turning it off deletes the stored texts before it is answered.
 */

import { field, Type } from '../../core/contracts/index.js';
import { createValidator, GatewayError } from '../../core/runtime/index.js';
import {
  Nullable,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJsonBody,
  sendJson,
} from '../http/index.js';
import { MAX_INPUT_DAYS, type RequestLog } from '../usage/index.js';
import { asItStands } from './setup.js';
import type { AccountServices } from './sign-in/sessions.js';

const MAX_BODY_BYTES = 1_024;
const Days = Nullable(Type.Integer({ minimum: 1, maximum: MAX_INPUT_DAYS }));
const BodySchema = Type.Object(
  { days: field(Days, `Days for which they are kept, 1 to ${MAX_INPUT_DAYS}. Null turns it off and deletes them.`, 7) },
  { additionalProperties: false },
);
const StateSchema = Type.Object({
  days: field(Days, 'Days for which they are kept. Null if they are not kept.', 7),
});

const COMMON = {
  grant: 'session',
  tag: 'Account',
  path: '/api/user/request-inputs',
  endpoint: 'userRequestInputs',
  answers: asItStands(StateSchema),
} as const;

const GET: RouteDeclaration = {
  ...COMMON,
  method: 'GET',
  summary: 'Get whether inputs are kept',
  description: 'Returns whether the request log keeps what the requests of the account asked. It is off by default.',
};

const SET: RouteDeclaration = {
  ...COMMON,
  method: 'POST',
  summary: 'Keep inputs of requests, or stop',
  description:
    'Keeps the beginning of what later requests ask (last message, prompt, text, address) for some days. Null deletes all at once.',
  body: { schema: BodySchema, example: { days: 7 } },
  errors: ['invalid_value'],
};

export interface RequestInputServices extends AccountServices {
  requestLog: Pick<RequestLog, 'inputs'>;
}

export function requestInputRoutes(services: RequestInputServices): Route[] {
  const { sessions, polls, bodies, requestLog } = services;
  const validate = createValidator(BodySchema);

  async function get(context: RequestContext): Promise<void> {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    sendJson(context, { days: await requestLog.inputs.daysOf(user.accountId) }, 'private');
  }

  async function set(context: RequestContext): Promise<void> {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    const limits = { maxBytes: MAX_BODY_BYTES, budget: bodies, owner: user.accountId };
    const body = await readJsonBody(context.req, context.res, limits);
    const checked = validate.check(body);
    if (!checked.ok) throw invalidDays();
    const { days } = checked.value;
    await requestLog.inputs.setDays(user.accountId, days);
    context.body = { days };
  }

  return [
    { ...GET, handler: get },
    { ...SET, handler: set },
  ];
}

/** Days of a form: empty is off. @throws GatewayError `invalid_value`. */
export function readInputDays(text: string): number | null {
  if (text === '') return null;
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= MAX_INPUT_DAYS) return days;
  throw invalidDays();
}

function invalidDays(): GatewayError {
  const message = `days must be a whole number from 1 to ${MAX_INPUT_DAYS}, or null for off.`;
  return new GatewayError('invalid_value', message, { param: 'days' });
}
