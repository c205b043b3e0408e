/*
 * The device flow of OAuth (RFC 8628), by which a program gets a session of a user without seeing a password: it
 * requests a code, the user enters the code on the site, and the program polls until then. Codes are valid for 10
 * minutes; the latest 20,000 are stored, by the hash of the secret code. A token is returned once. A program that polls
 * too soon must wait 5 s longer from then on. Starts and polls are limited by address, at 60 and 1,200 a minute.
 */

import { randomInt } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { field, optional, Type } from '../../../core/contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  deleteBeyond,
  deleteExpired,
  type ExpiringTable,
  type Selectable,
  storable,
} from '../../../core/database/index.js';
import { GatewayError } from '../../../core/runtime/index.js';
import {
  AddressLimit,
  type BodyBudget,
  type BodyReaderOptions,
  isForm,
  networkOwner,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readForm,
  readJsonBody,
  Text,
} from '../../http/index.js';
import { hashToken, newToken } from '../../keys/index.js';
import { locked } from '../account-plans.js';
import { asItStands } from '../setup.js';
import type { DeviceGrantsTable } from '../tables.js';
import type { AccountServices } from './sessions.js';

/** Grant type of RFC 8628. */
const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const MAX_BODY_BYTES = 4_096;
const MAX_NAME = 100;
const STARTS_PER_MINUTE = 60;
/** At one poll in five seconds, the number of programs that may wait behind one address. */
const POLLS_PER_MINUTE = 1_200;

const REFUSALS: Readonly<Record<Exclude<DevicePoll['status'], 'granted'>, string>> = {
  authorization_pending: 'The person has not answered yet. Poll again after the interval.',
  slow_down: 'This poll came too soon. From now on, wait 5 seconds longer between polls.',
  access_denied: 'The person denied the request.',
  expired_token: 'The code has expired. Start again.',
  invalid_grant: 'The device code is unknown or was used before.',
};

interface DeviceServices extends AccountServices {
  deviceGrants: DeviceGrants;
}

const types = ['application/json', 'application/x-www-form-urlencoded'] as const;
const COMMON = {
  method: 'POST',
  grant: 'none',
  format: 'oauth',
  tag: 'Account',
  errors: ['rate_limit_exceeded'],
} as const;

const BEGIN: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/device',
  endpoint: 'deviceAuthorization',
  summary: 'Start the device flow',
  description: 'Starts the device flow (RFC 8628): returns the codes for a program, and where the user enters them.',
  body: {
    type: types,
    schema: Type.Object({
      client_id: field(Text, 'Name of the program, which the user sees: 1 to 100 characters.'),
    }),
    example: { client_id: 'Shipyard CLI' },
  },
  answers: asItStands(
    Type.Object({
      device_code: field(Text, 'Secret code of the program, for polling.'),
      user_code: field(Text, 'Code that the user enters.', 'BCDF-GHJK'),
      verification_uri: field(Text, 'Address where the user enters the code.'),
      verification_uri_complete: field(Text, 'The same address with the code in it.'),
      expires_in: field(Type.Integer(), 'Seconds until the codes expire.', 600),
      interval: field(Type.Integer(), 'Seconds to wait between two polls.', 5),
    }),
  ),
};

const TOKEN: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/device/token',
  endpoint: 'deviceToken',
  summary: 'Poll the device flow',
  description: 'Returns a bearer token for 12 hours when the user has given access. Poll it until then.',
  body: {
    type: types,
    schema: Type.Object({
      grant_type: optional(Text, 'Kind of the grant. Only this value is accepted.', DEVICE_GRANT_TYPE),
      client_id: optional(Text, 'Name of the program. Not checked.'),
      device_code: field(Text, 'The secret code of the program.'),
    }),
    example: { grant_type: DEVICE_GRANT_TYPE, device_code: 'DEVICE_CODE' },
  },
  answers: asItStands(
    Type.Object({
      access_token: field(Text, 'Token of the session, for the `Authorization` header.'),
      token_type: field(Text, 'Kind of the token.', 'Bearer'),
      expires_in: field(Type.Integer(), 'Seconds until the session ends.', 43_200),
    }),
  ),
};

/**
 * The device flow for programs (RFC 8628): request a code, display it, poll until a user approves the program. Accepts
 * forms, as OAuth clients send them, and JSON.
 */
export function deviceApiRoutes(services: DeviceServices): Route[] {
  const { deviceGrants, site, sessions, publicBodies, clock, siblings, addressOf } = services;
  const starts = new AddressLimit({
    clock,
    siblings,
    name: 'device starts',
    perMinute: STARTS_PER_MINUTE,
    what: 'Too many device codes',
  });
  const polls = new AddressLimit({
    clock,
    siblings,
    name: 'device polls',
    perMinute: POLLS_PER_MINUTE,
    what: 'Too many polls',
  });

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
    const code = showUserCode(userCode);
    context.body = {
      device_code: deviceCode,
      user_code: code,
      verification_uri: verificationUri,
      verification_uri_complete: `${verificationUri}?user_code=${code}`,
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
      return refuse(context, 'unsupported_grant_type', `grant_type must be ${DEVICE_GRANT_TYPE}.`);
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

  return [
    { ...BEGIN, handler: begin },
    { ...TOKEN, handler: sendToken },
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

/** Shown to the user who approves: only characters of a plain name. */
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

/** The most readable form: `BCDF-GHJK`. */
export function showUserCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** A program that waits for approval by a signed-in user (RFC 8628). Times are milliseconds since 1970. */
export interface DeviceGrant {
  /** 8 letters, no vowels, without a hyphen. */
  userCode: string;
  /** The program's own name, shown to the approving user. At most 100 characters. */
  clientName: string;
  createdAt: number;
  expiresAt: number;
}

export interface NewDeviceGrant {
  /** SHA-256 of the device code in lower-case hex. */
  deviceHash: string;
  clientName: string;
}

/**
 * The result of a poll, in the terms of RFC 8628 and RFC 6749. `invalid_grant`: there is no such device code, or it was
 * already used.
 */
export type DevicePoll =
  | { status: 'granted'; userId: string }
  | {
      status: 'authorization_pending' | 'slow_down';
      /** Seconds to wait before the next poll. */
      interval: number;
    }
  | { status: 'access_denied' | 'expired_token' | 'invalid_grant' };

const GOOD_MS = 10 * 60_000;
/** How long an expired one is reported as expired. */
const RETENTION_MS = 10 * 60_000;
const MAX = 20_000;
const MAX_CLIENT_NAME = 100;
/** As RFC 8628 proposes: no vowels, so that no words arise. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;
const FIRST_INTERVAL_SECONDS = 5;
const SLOWER_SECONDS = 5;
const LAST_INTERVAL_SECONDS = 60;

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class DeviceGrants {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #table: ExpiringTable;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
    this.#table = { engine: this.#database.engine, table: 'device_grants', key: 'deviceHash' };
  }

  /** Valid for 10 minutes. The latest 20,000 are kept. */
  create({ deviceHash, clientName }: NewDeviceGrant): Promise<DeviceGrant & { interval: number }> {
    return this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      await deleteExpired(queries, this.#table, at - RETENTION_MS);
      await deleteBeyond(queries, this.#table, MAX);
      for (;;) {
        const row = await queries
          .insertInto('device_grants')
          .values({
            deviceHash,
            userCode: newUserCode(),
            clientName: storable(clientName, MAX_CLIENT_NAME),
            state: 'pending',
            userId: null,
            intervalSeconds: FIRST_INTERVAL_SECONDS,
            polledAt: null,
            createdAt: at,
            expiresAt: at + GOOD_MS,
          })
          .onConflict((conflict) => conflict.column('userCode').doNothing())
          .returningAll()
          .executeTakeFirst();
        if (row) return { ...toDeviceGrant(row), interval: row.intervalSeconds };
      }
    });
  }

  /** A pending grant by its user code as a person types it: case and separators are ignored. */
  async find(userCode: string): Promise<DeviceGrant | undefined> {
    const row = await this.#database.run((queries) =>
      queries
        .selectFrom('device_grants')
        .selectAll()
        .where('userCode', '=', lettersOf(userCode))
        .where('state', '=', 'pending')
        .where('expiresAt', '>', this.#times.now)
        .executeTakeFirst(),
    );
    return row && toDeviceGrant(row);
  }

  /** Approves the program for this user. False if no grant is pending under the code. */
  approve(userCode: string, userId: string): Promise<boolean> {
    return this.#answer(userCode, { state: 'approved', userId });
  }

  deny(userCode: string): Promise<boolean> {
    return this.#answer(userCode, { state: 'denied', userId: null });
  }

  /** `granted` is returned once. A program that polls before its interval is over must wait 5 s longer from then on. */
  poll(deviceHash: string): Promise<DevicePoll> {
    return this.#database.transaction(async (transaction): Promise<DevicePoll> => {
      const rows = transaction.selectFrom('device_grants').selectAll().where('deviceHash', '=', deviceHash);
      const row = await locked(this.#database.engine, rows).executeTakeFirst();
      if (!row) return { status: 'invalid_grant' };
      const at = await this.#times.read(transaction);
      if (row.expiresAt <= at) return { status: 'expired_token' };
      if (row.state === 'denied') return { status: 'access_denied' };
      if (row.state === 'approved' && row.userId !== null) {
        await transaction.deleteFrom('device_grants').where('deviceHash', '=', deviceHash).execute();
        return { status: 'granted', userId: row.userId };
      }
      const tooSoon = row.polledAt !== null && at - row.polledAt < row.intervalSeconds * 1_000;
      const slower = Math.min(row.intervalSeconds + SLOWER_SECONDS, LAST_INTERVAL_SECONDS);
      const interval = tooSoon ? slower : row.intervalSeconds;
      await transaction
        .updateTable('device_grants')
        .set({ polledAt: at, intervalSeconds: interval })
        .where('deviceHash', '=', deviceHash)
        .execute();
      return { status: tooSoon ? 'slow_down' : 'authorization_pending', interval };
    });
  }

  async #answer(userCode: string, change: Pick<DeviceGrantsTable, 'state' | 'userId'>): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.run((queries) =>
      queries
        .updateTable('device_grants')
        .set(change)
        .where('userCode', '=', lettersOf(userCode))
        .where('state', '=', 'pending')
        .where('expiresAt', '>', this.#times.now)
        .executeTakeFirstOrThrow(),
    );
    return numUpdatedRows > 0n;
  }
}

function newUserCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('');
}

function lettersOf(typed: string): string {
  return typed
    .slice(0, 100)
    .toUpperCase()
    .replace(/[^A-Z]/g, '');
}

function toDeviceGrant(row: Selectable<DeviceGrantsTable>): DeviceGrant {
  return {
    userCode: row.userCode,
    clientName: row.clientName,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
  };
}
