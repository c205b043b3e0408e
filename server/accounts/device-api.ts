import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError, Type } from 'mediagate';
import {
  type BodyBudget,
  type BodyReaderOptions,
  createAddressLimit,
  defineRoute,
  isForm,
  networkOwner,
  type RequestContext,
  type Route,
  readForm,
  readJsonBody,
  Text,
} from '../http/index.js';
import { hashToken, newToken } from '../keys/index.js';
import type { AccountContext } from '../server-context.js';
import type { DevicePoll } from './device-grants.js';
import { asItStands } from './schemas.js';

/** Of RFC 8628. */
const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const MAX_BODY_BYTES = 4_096;
const MAX_NAME = 100;
const STARTS_PER_MINUTE = 60;
/** At one poll in five seconds, so many of them wait behind one address. */
const POLLS_PER_MINUTE = 1_200;

const REFUSALS: Readonly<Record<Exclude<DevicePoll['status'], 'granted'>, string>> = {
  authorization_pending: 'Nobody has answered yet. Poll again after the interval.',
  slow_down: 'This poll came too soon: wait 5 seconds longer between polls from now on.',
  access_denied: 'Whoever was asked said no.',
  expired_token: 'The code is too old. Start again.',
  invalid_grant: 'There is no such device code, or it was used before.',
};

/**
 * The device flow for programs (RFC 8628): ask for a code, show it, poll until somebody let the program in. Takes forms, as
 * clients of OAuth send them, and JSON.
 */
export function deviceApiRoutes(server: AccountContext): Route[] {
  const { account, sessions, publicBodies, clock, addressOf } = server;
  const { state, site } = account;
  const { deviceGrants } = state;
  const starts = createAddressLimit({ clock, perMinute: STARTS_PER_MINUTE, what: 'Too many device codes' });
  const polls = createAddressLimit({ clock, perMinute: POLLS_PER_MINUTE, what: 'Too many polls' });

  async function begin(context: RequestContext): Promise<void> {
    const address = addressOf(context.req);
    starts.admit(address);
    const fields = await readFields(context.req, context.res, limitsOf(address, publicBodies));
    const deviceCode = newToken();
    const { userCode, expiresAt, createdAt, interval } = await deviceGrants.create({
      deviceHash: hashToken(deviceCode),
      clientName: clientNameOf(fields),
    });
    const verificationUri = `${site().url}/device`;
    const shown = showUserCode(userCode);
    context.body = {
      device_code: deviceCode,
      user_code: shown,
      verification_uri: verificationUri,
      verification_uri_complete: `${verificationUri}?user_code=${shown}`,
      expires_in: Math.round((expiresAt - createdAt) / 1_000),
      interval,
    };
  }

  async function sendToken(context: RequestContext): Promise<void> {
    const address = addressOf(context.req);
    polls.admit(address);
    const fields = await readFields(context.req, context.res, limitsOf(address, publicBodies));
    const { grant_type: type = DEVICE_GRANT_TYPE, device_code: code } = fields;
    if (type !== DEVICE_GRANT_TYPE) {
      return refuse(context, 'unsupported_grant_type', `The only grant_type here is ${DEVICE_GRANT_TYPE}.`);
    }
    if (typeof code !== 'string' || code === '') {
      throw new GatewayError('missing_required_parameter', 'device_code is missing.', { param: 'device_code' });
    }
    const poll = await deviceGrants.poll(hashToken(code));
    if (poll.status !== 'granted') {
      const more = 'interval' in poll ? { interval: poll.interval } : {};
      return refuse(context, poll.status, REFUSALS[poll.status], more);
    }
    const { token, expiresIn } = await sessions.startDevice(poll.userId);
    context.body = { access_token: token, token_type: 'Bearer', expires_in: expiresIn };
  }

  const common = {
    method: 'POST',
    grant: 'none',
    format: 'oauth',
    tag: 'Account',
    errors: ['rate_limit_exceeded'],
  } as const;
  return [
    defineRoute({
      ...common,
      path: '/api/agent/device',
      endpoint: 'deviceAuthorization',
      summary: 'Begins the device flow (RFC 8628)',
      description: 'Begins the device flow (RFC 8628): codes for a program, and where a person enters them.',
      body: { schema: Type.Object({ client_id: Text }), example: { client_id: 'Shipyard CLI' } },
      answers: asItStands(
        Type.Object({ device_code: Text, user_code: Text, verification_uri: Text, expires_in: Type.Integer() }),
      ),
      handler: begin,
    }),
    defineRoute({
      ...common,
      path: '/api/agent/device/token',
      endpoint: 'deviceToken',
      summary: 'Asked until the person has answered',
      description: 'Asked until the person has answered; then gives a bearer token for 12 hours.',
      body: { schema: Type.Object({ grant_type: Text, client_id: Text, device_code: Text }) },
      answers: asItStands(Type.Object({ access_token: Text, token_type: Text, expires_in: Type.Integer() })),
      handler: sendToken,
    }),
  ];
}

function limitsOf(address: string, budget: BodyBudget): BodyReaderOptions {
  return { maxBytes: MAX_BODY_BYTES, budget, owner: networkOwner(address) };
}

function readFields(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyReaderOptions,
): Promise<Record<string, unknown>> {
  return isForm(request) ? readForm(request, response, limits) : readJsonBody(request, response, limits);
}

/** What is shown to whoever is asked to let it in: nothing that could pass for more than a name. */
function clientNameOf({ client_id: id }: Record<string, unknown>): string {
  if (typeof id === 'string' && /^[\p{L}\p{N}][\p{L}\p{N} ._()+-]*$/u.test(id) && id.length <= MAX_NAME) return id;
  const message = `client_id must name the program: 1 to ${MAX_NAME} letters, digits, spaces and . _ ( ) + -`;
  throw new GatewayError('invalid_value', message, { param: 'client_id' });
}

function refuse(context: RequestContext, error: string, description: string, more: object = {}): void {
  context.status = 400;
  context.state.errorCode = error;
  context.body = { error, error_description: description, ...more };
}

/** As people read it best: `BCDF-GHJK`. */
export function showUserCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}
