/*
 * The routes of sign-in for agents: metadata of `/mcp` and of the authorization server, requests for access, tokens,
 * registration and revocation. Errors have the format of OAuth; those of requests for access are pages. Bodies have at
 * most 64 KiB, and of their fields only those that count reach the library. An address may send 60 requests for access
 * and 20 registrations a minute, and 600 of all others.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  AddressLimit,
  AnyObject,
  type CallAnswer,
  defineRoute,
  isForm,
  networkOwner,
  type ParamsContext,
  type RequestContext,
  type Route,
  readForm,
  readJsonBody,
  seeOther,
  Text,
  Url,
} from '../http/index.js';
import { MCP_PATH } from '../mcp/index.js';
import { readClientHeader } from './applications.js';
import { type AuthorizationServer, RESOURCE_METADATA_PATH } from './authorization-server.js';
import { MetadataError, readMetadata } from './client-metadata.js';
import { type ConnectionServices, connectionRoutes } from './connection-routes.js';
import { AUTHORIZE_PATH, KEYS_PATH, REGISTER_PATH, REVOKE_PATH, TOKEN_PATH, USERINFO_PATH } from './paths.js';
import type { SignedInHere } from './prompts.js';

const MAX_BODY_BYTES = 64 * 1024;
const REQUESTS_PER_MINUTE = 60;
const REGISTRATIONS_PER_MINUTE = 20;
const OTHERS_PER_MINUTE = 600;
const FORM = 'application/x-www-form-urlencoded';
/** The examples of the API reference send JSON. */
const TYPES = [FORM, 'application/json'] as const;
const METADATA_SECONDS = 300;

export interface AgentSignInServices extends ConnectionServices {
  authorization: AuthorizationServer;
}

const Metadata = { 200: { description: 'The metadata.', schema: AnyObject } };

export function identityRoutes(services: AgentSignInServices): Route[] {
  const handlers = new Handlers(services);
  const common = { grant: 'none', format: 'oauth', tag: 'Agents', errors: ['agent_sign_in_unavailable'] } as const;
  const metadata = {
    ...common,
    method: 'GET',
    answers: Metadata,
    errors: ['agent_sign_in_unavailable', 'rate_limit_exceeded'],
  } as const;
  const posted = {
    ...common,
    method: 'POST',
    errors: ['agent_sign_in_unavailable', 'rate_limit_exceeded'],
  } as const;
  const page = {
    method: 'GET',
    grant: 'none',
    format: 'page',
    tag: 'Pages',
    answers: { 303: { description: 'To the next step.' } },
    errors: ['agent_request_invalid', 'agent_sign_in_unavailable', 'rate_limit_exceeded'],
  } as const;
  return [
    ...connectionRoutes(services),
    ...[RESOURCE_METADATA_PATH, `${RESOURCE_METADATA_PATH}${MCP_PATH}`].map((path) =>
      defineRoute({
        ...metadata,
        path,
        summary: 'Metadata of the endpoint for agents',
        description: 'Where programs get tokens for `/mcp` (RFC 9728).',
        handler: (context) => handlers.sendResource(context),
      }),
    ),
    ...['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'].map((path) =>
      defineRoute({
        ...metadata,
        path,
        summary: 'Metadata of the authorization server',
        description:
          'Addresses of sign-in for agents and for applications of the operator, and what they accept (RFC 8414, OpenID Connect Discovery).',
        handler: (context) => handlers.sendServer(context),
      }),
    ),
    defineRoute({
      ...metadata,
      path: KEYS_PATH,
      summary: 'Keys of the authorization server',
      description: 'Public keys of identity tokens, as JSON Web Key Set. Access tokens are opaque.',
      handler: (context) => handlers.sendKeys(context),
    }),
    defineRoute({
      ...page,
      path: AUTHORIZE_PATH,
      summary: 'Request for access of a program',
      description:
        'Begins a request for access with a code and PKCE (S256): redirects to the page on which the user answers it.',
      query: {
        client_id: {
          schema: Text,
          description: 'Id from the registration, address of a metadata document, or name of an application.',
        },
        redirect_uri: { schema: Text, description: 'Where the program gets the code.' },
        response_type: { schema: Text, description: '`code`.' },
        code_challenge: { schema: Text, description: 'SHA-256 of the verifier, base64url.' },
        code_challenge_method: { schema: Text, description: '`S256`.' },
        scope: {
          schema: Text,
          description: 'Grants, separated by spaces. Default: all. Of applications: `openid profile email`.',
        },
        nonce: { schema: Text, description: 'Of applications: is in the identity token.' },
        prompt: {
          schema: Text,
          description:
            'Of applications: `none` shows no page and may end in `login_required`; `login` asks for a new sign-in.',
        },
        max_age: {
          schema: Text,
          description: 'Of applications: seconds since the sign-in after which a new one is asked for.',
        },
        state: { schema: Text, description: 'Returned unchanged.' },
        resource: { schema: Text, description: 'The address of `/mcp`, the only one that tokens are for.' },
      },
      handler: (context) => handlers.begin(context),
    }),
    defineRoute({
      ...page,
      path: `${AUTHORIZE_PATH}/:uid`,
      params: { uid: { description: 'Id of the request.' } },
      summary: 'Answered request for access',
      description: 'Redirects the browser to the program, with a code or with the refusal.',
      handler: (context) => handlers.resume(context),
    }),
    defineRoute({
      ...posted,
      path: TOKEN_PATH,
      summary: 'Tokens for a program',
      description:
        'Returns tokens for a code, or new ones for a refresh token, which is then replaced. An access token is valid for 15 minutes, for `/mcp` alone. An application of the operator authenticates with its secret, in the body or by Basic, and gets an identity token with an access token for `/oauth/userinfo`.',
      body: {
        type: TYPES,
        schema: Type.Object({
          grant_type: field(Text, '`authorization_code` or `refresh_token`.', 'refresh_token'),
          client_id: optional(Text, 'Id of the program. Not needed with Basic.', 'CLIENT_ID'),
          client_secret: optional(Text, 'Secret of an application.'),
          code: optional(Text, 'The code.'),
          code_verifier: optional(Text, 'The PKCE verifier of the code.'),
          redirect_uri: optional(Text, 'As in the request for access.'),
          refresh_token: optional(Text, 'The latest refresh token.', 'REFRESH_TOKEN'),
          resource: optional(Text, 'As in the request for access.'),
          scope: optional(Text, 'Fewer grants than the refresh token has.'),
        }),
        example: { grant_type: 'refresh_token', client_id: 'CLIENT_ID', refresh_token: 'REFRESH_TOKEN' },
      },
      answers: {
        200: {
          description: 'The tokens.',
          schema: Type.Object({
            access_token: field(Text, 'Token for the `Authorization` header.'),
            token_type: field(Text, 'Kind of the token.', 'Bearer'),
            expires_in: field(Type.Integer(), 'Seconds until it expires.', 900),
            refresh_token: optional(Text, 'For the next access token. It replaces the one that was sent.'),
            id_token: optional(Text, 'Of applications: who the user is, signed (ES256).'),
            scope: field(Text, 'Grants of the token.', 'extract images'),
          }),
        },
      },
      handler: (context) => handlers.sendToken(context),
    }),
    defineRoute({
      ...metadata,
      path: USERINFO_PATH,
      summary: 'Who the user is',
      description: 'Returns id, name and, if known, email of the user of an access token of an application.',
      answers: {
        200: {
          description: 'The user.',
          schema: Type.Object({
            sub: field(Text, 'Id of the user, which never changes.'),
            name: optional(Text, 'Name of the user.'),
            email: optional(Text, 'Email address of the user.'),
          }),
        },
      },
      handler: (context) => handlers.sendUser(context),
    }),
    defineRoute({
      ...posted,
      path: REGISTER_PATH,
      summary: 'Register a program',
      description:
        'Registers a program that has no metadata document (RFC 7591). It has no secret. A registration that no user connects ends after an hour.',
      body: {
        schema: Type.Object({
          redirect_uris: field(Type.Array(Url), 'Where codes may be sent: https, loopback, or the scheme of an app.'),
          client_name: optional(Text, 'Name for people.', 'Shipyard agent'),
        }),
        example: { redirect_uris: ['http://localhost:3118/callback'], client_name: 'Shipyard agent' },
      },
      answers: {
        201: {
          description: 'The registration. Other fields of RFC 7591 are set by the gateway.',
          schema: Type.Object({
            client_id: field(Text, 'Id of the program.'),
            redirect_uris: field(Type.Array(Url), 'As registered.'),
            token_endpoint_auth_method: field(Text, 'Always `none`.', 'none'),
          }),
        },
      },
      handler: (context) => handlers.register(context),
    }),
    defineRoute({
      ...posted,
      path: REVOKE_PATH,
      summary: 'Give up access',
      description:
        'Ends the connection that a token belongs to, with its running jobs (RFC 7009). Unknown tokens are no error.',
      body: {
        type: TYPES,
        schema: Type.Object({
          token: field(Text, 'An access or refresh token.', 'REFRESH_TOKEN'),
          client_id: field(Text, 'Id of the program.', 'CLIENT_ID'),
          token_type_hint: optional(Text, '`access_token` or `refresh_token`.'),
        }),
        example: { token: 'REFRESH_TOKEN', client_id: 'CLIENT_ID' },
      },
      answers: { 200: { description: 'The access has ended.' } },
      handler: (context) => handlers.revoke(context),
    }),
  ];
}

const TOKEN_FIELDS = [
  ...[
    'grant_type',
    'client_id',
    'client_secret',
    'code',
    'code_verifier',
    'redirect_uri',
    'refresh_token',
    'resource',
    'scope',
  ],
] as const;
const REVOCATION_FIELDS = ['token', 'client_id', 'client_secret', 'token_type_hint'] as const;

class Handlers {
  readonly #services: AgentSignInServices;
  readonly #requests: AddressLimit;
  readonly #registrations: AddressLimit;
  readonly #others: AddressLimit;

  constructor(services: AgentSignInServices) {
    const { clock, siblings } = services;
    const limit = (name: string, perMinute: number, what: string) =>
      new AddressLimit({ clock, siblings, name, perMinute, what });
    this.#services = services;
    this.#requests = limit('requests for access', REQUESTS_PER_MINUTE, 'Too many requests for access');
    this.#registrations = limit('registrations', REGISTRATIONS_PER_MINUTE, 'Too many registrations');
    this.#others = limit('agent sign-in', OTHERS_PER_MINUTE, 'Too many requests');
  }

  sendResource(context: RequestContext): void {
    const { authorization } = this.#admit(context, this.#others);
    authorization.checkAvailable();
    this.#sendMetadata(context, authorization.describeResource());
  }

  async sendServer(context: RequestContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#others);
    this.#sendMetadata(context, await authorization.describe(context));
  }

  async sendKeys(context: RequestContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#others);
    this.#sendMetadata(context, (await authorization.resume(context)).json);
  }

  async begin(context: RequestContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#requests);
    follow(context, await authorization.begin(context, await this.#signedIn(context)));
  }

  /** Who is signed in at the site in this browser. */
  async #signedIn(context: RequestContext): Promise<SignedInHere | undefined> {
    const found = await this.#services.sessions.find(context);
    if (found?.session.kind !== 'browser') return undefined;
    return { user: found.user, signedInAt: found.session.createdAt };
  }

  async resume(context: ParamsContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#requests);
    follow(context, await authorization.resume(context));
  }

  async sendToken(context: RequestContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#others);
    pass(context, await authorization.post(context, FORM, await this.#form(context, TOKEN_FIELDS)));
  }

  async sendUser(context: RequestContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#others);
    const answer = await authorization.describeUser(context, context.req.headers.authorization);
    if (answer.status === 401) context.set('WWW-Authenticate', 'Bearer error="invalid_token"');
    pass(context, answer);
  }

  async revoke(context: RequestContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#others);
    pass(context, await authorization.post(context, FORM, await this.#form(context, REVOCATION_FIELDS)));
  }

  async register(context: RequestContext): Promise<void> {
    const { authorization } = this.#admit(context, this.#registrations);
    authorization.checkAvailable();
    const sent = await readJsonBody(context.req, context.res, this.#bodyLimits(context));
    try {
      const bytes = Buffer.from(JSON.stringify(readMetadata(sent)));
      pass(context, await authorization.post(context, 'application/json', bytes));
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
      context.status = 400;
      context.state.errorCode = error.code;
      context.body = { error: error.code, error_description: error.message };
    }
  }

  /** @throws GatewayError `agent_sign_in_unavailable`, `rate_limit_exceeded`. */
  #admit({ req }: RequestContext, limit: AddressLimit): AgentSignInServices {
    this.#services.authorization.checkOpen();
    limit.admit(this.#services.addressOf(req));
    return this.#services;
  }

  #bodyLimits({ req }: RequestContext) {
    const { publicBodies: budget, addressOf } = this.#services;
    return { maxBytes: MAX_BODY_BYTES, budget, owner: networkOwner(addressOf(req)) };
  }

  /** The fields of a form that count. */
  async #form(context: RequestContext, names: readonly string[]): Promise<Buffer> {
    const { req, res } = context;
    const { authorization: header } = req.headers;
    const limits = this.#bodyLimits(context);
    const sent = await (isForm(req) ? readForm(req, res, limits) : readJsonBody(req, res, limits));
    const known = Object.entries(sent).filter((one): one is [string, string] => {
      return names.includes(one[0]) && typeof one[1] === 'string';
    });
    const { client_secret: secret, ...fields } = {
      ...(Object.fromEntries(known) as Record<string, string>),
      ...readClientHeader(header),
    };
    // Programs of agents have none.
    const isSecret = secret !== undefined && this.#services.authorization.isApplication(fields.client_id ?? '');
    return Buffer.from(new URLSearchParams({ ...fields, ...(isSecret && { client_secret: secret }) }).toString());
  }

  #sendMetadata(context: RequestContext, metadata: object): void {
    context.set('Cache-Control', `public, max-age=${METADATA_SECONDS}`);
    context.body = metadata;
  }
}

/** Sends what the library answered to a program. */
function pass(context: RequestContext, { status, json, bytes }: CallAnswer): void {
  context.status = status;
  context.set('Cache-Control', 'no-store');
  if (status >= 400) context.state.errorCode = json?.error ?? 'invalid_request';
  context.body = json ?? (bytes.length > 0 ? bytes : '');
}

/** Sends a browser on. @throws GatewayError `agent_request_invalid` if it cannot go back to the program. */
function follow(context: RequestContext, answer: CallAnswer): void {
  const location = answer.header('location');
  if (location === undefined) {
    const message = answer.json?.error_description ?? 'The request is not valid.';
    throw new GatewayError('agent_request_invalid', `The program cannot be connected: ${message}`);
  }
  context.set('Cache-Control', 'no-store');
  seeOther(context, location);
}
