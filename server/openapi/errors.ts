/*
 * The error answers of the API reference: for each route the codes of each status, and the body of its error format.
 * The codes follow from the route's declaration: who may call it, whether it has a body or a query, and the errors it
 * names. `server/http/error-response.ts` encodes the same bodies, and a test compares the two. Model routes and
 * Anthropic's format have statuses of their own. The meaning of each code is from the table of error texts. Fields may
 * be added to any of these bodies.
 */

import { field, optional, type TSchema, Type } from '../../core/contracts/index.js';
import { ERROR_CODES, ERRORS, type ErrorCode } from '../../core/runtime/index.js';
import { Attempts, Count, type ErrorFormat, errorClassOf, Nullable, OneOf, type Route, Text } from '../http/index.js';

/**
 * Authentication schemes. `key` is a bearer API key; `linkKey` may also be in `X-API-Key`; `browser` takes no device token;
 * `admin` is a bearer key with that grant, or the session of an operator.
 */
export type Access = 'none' | 'key' | 'linkKey' | 'session' | 'browser' | 'admin' | 'signature';

const KEY_ERRORS = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'route_not_allowed',
  'account_suspended',
] as const;
const SESSION_ERRORS = ['not_signed_in', 'cross_site_request', 'rate_limit_exceeded'] as const;
const ACCESS_ERRORS: Readonly<Record<Access, readonly ErrorCode[]>> = {
  none: [],
  key: KEY_ERRORS,
  linkKey: KEY_ERRORS,
  session: SESSION_ERRORS,
  browser: SESSION_ERRORS,
  admin: ['route_not_found', 'cross_site_request'],
  signature: ['invalid_signature', 'route_not_found', 'rate_limit_exceeded'],
};
const BODY_ERRORS = [
  'invalid_json',
  'invalid_value',
  'missing_required_parameter',
  'request_too_large',
  'unsupported_media_type',
  'request_timeout',
] as const;

const MESSAGE = field(Text, 'What went wrong, and what to do. For people; the words may change.');
const REQUEST_ID = 'Id of the request, which the log of the gateway also has.';
const RETRYABLE = 'Whether the same request may succeed later.';
const REASON = "The platform's or model's own message, at most 300 characters. Absent if it sent none.";

const Code = Type.Unsafe({ $ref: '#/components/schemas/ErrorCode' });

const FIELDS = {
  message: MESSAGE,
  type: field(Text, 'Class of the error, as clients of OpenAI know it.', 'invalid_request_error'),
  param: field(Nullable(Text), 'The field of the request that is invalid. Null if none is.', 'url'),
  code: field(Code, 'Stable error code, for programs. Treat an unknown code by the HTTP status.', 'invalid_value'),
  request_id: optional(Text, REQUEST_ID),
};

function errorWith(description: string, more: { fields?: Fields; beside?: Fields }): TSchema {
  const error = Type.Object({ ...FIELDS, ...more.fields });
  return Type.Object({ error: field(error, 'The error.'), ...more.beside }, { description });
}

type Fields = Readonly<Record<string, TSchema>>;

/** Error bodies, by name, with every code that is declared by then. Fields may be added to any of them. */
export function errorSchemas(): Readonly<Record<string, TSchema>> {
  const codes = ERROR_CODES.toSorted().map((code) => Type.Literal(code, { description: ERRORS[code].meaning }));
  return { ErrorCode: Type.Union(codes, { description: 'Stable code of an error.' }), ...BODY_SCHEMAS };
}

const BODY_SCHEMAS: Readonly<Record<string, TSchema>> = {
  Error: errorWith('Why a request was refused or failed.', {
    beside: {
      loginUrl: optional(Text, 'Only if the user is not signed in: the address of the sign-in.'),
      instruction: optional(Text, 'Only if the user is not signed in: what a program should tell its user.'),
    },
  }),
  LinkError: errorWith('Why a request of link data was refused or failed.', {
    fields: {
      retryable: optional(Type.Boolean(), `${RETRYABLE} Only if the platform was asked.`),
      reason: optional(Text, REASON),
      attempts: optional(Attempts, 'The methods that were tried for the link, in order.'),
    },
    beside: {
      ok: optional(Type.Literal(false), 'Always false. Absent if the headers of the request are invalid.'),
      platform: optional(Text, 'Platform key, if it is known.', 'vidsite'),
      input_url: optional(Text, 'The link as sent, if there is one.'),
    },
  }),
  ImageError: errorWith('Why a request of images was refused or failed.', {
    fields: {
      retryable: optional(Type.Boolean(), `${RETRYABLE} Only if the image was submitted.`),
      reason: optional(Text, REASON),
      job_id: optional(Text, 'Id of the image job. Only if the image was submitted.'),
      status_url: optional(Text, 'Path to poll the image job. Only if the image was submitted.'),
    },
    beside: {
      requested: optional(Count, 'Requested images. Only if the image was submitted.'),
      succeeded: optional(Count, 'Finished images. Only if the image was submitted.'),
      failed: optional(Count, 'Failed images: 0 if the job still runs. Only if the image was submitted.'),
    },
  }),
  ModelError: errorWith('Why a request of a model was refused or failed.', {
    fields: {
      code: field(Text, 'Stable error code, for programs: a code of this gateway, or one of the vendor.'),
      gateway_code: optional(Code, "The gateway's own code. Only if the error has the vendor's code and message."),
    },
  }),
  MessageError: Type.Object(
    {
      type: field(Type.Literal('error'), 'Always `error`.'),
      error: field(
        Type.Object({
          type: field(Text, "Class of the error, as Anthropic's SDK knows it.", 'invalid_request_error'),
          message: MESSAGE,
          code: optional(Text, 'Code of the vendor. Only with its message.'),
          gateway_code: optional(Code, "The gateway's own code. Only with the vendor's message."),
        }),
        'The error.',
      ),
      request_id: field(Text, REQUEST_ID),
    },
    { description: "Why a request in Anthropic's format was refused or failed." },
  ),
  OauthError: Type.Object(
    {
      error: field(
        OneOf(
          'authorization_pending',
          'slow_down',
          'access_denied',
          'expired_token',
          'invalid_grant',
          'invalid_token',
          'insufficient_scope',
          'invalid_request',
          'invalid_client',
          'invalid_scope',
          'invalid_target',
          'invalid_redirect_uri',
          'invalid_client_metadata',
          'unsupported_grant_type',
          'temporarily_unavailable',
        ),
        'Code of RFC 6749, 6750, 7591, 8628 or 8707. Poll again after `authorization_pending` and `slow_down`; stop after any other.',
      ),
      error_description: field(Text, 'What went wrong, and what to do. For people; the words may change.'),
      interval: optional(
        Count,
        'Seconds to wait before the next poll. Only for `authorization_pending` and `slow_down`.',
      ),
      code: optional(Code, "This gateway's own code. Absent for the states of the device flow."),
      request_id: optional(Text, REQUEST_ID),
    },
    { description: 'Why a request of the device flow or of an agent was refused, in the format of RFC 6749 (5.2).' },
  ),
  Problem: Type.Object(
    {
      type: field(Text, 'Kind of the problem: an address, or `about:blank`.', 'about:blank'),
      title: field(Text, 'Name of the status.', 'Bad Request'),
      status: field(Type.Integer(), 'HTTP status.', 400),
      detail: MESSAGE,
      instance: field(Text, 'Path of the request.', '/v1/extract'),
      code: field(Code, 'Stable error code, for programs.', 'invalid_value'),
      param: field(Nullable(Text), 'The field of the request that is invalid. Null if none is.', 'url'),
      request_id: field(Text, REQUEST_ID),
      'violated-policies': optional(Type.Array(Text), 'Rate limits that refused the request, by name.'),
      job_id: optional(Text, 'Id of the image job, if the image was submitted.'),
      platform: optional(Text, 'Only on link data: platform key, if it is known.', 'vidsite'),
      input_url: optional(Text, 'Only on link data: the link as sent.'),
      reason: optional(Text, REASON),
      retryable: optional(Type.Boolean(), `Only on link data: ${RETRYABLE.toLowerCase()}`),
      attempts: optional(Attempts, 'Only on link data: the methods that were tried, in order.'),
    },
    {
      description:
        "The form of RFC 9457, for requests with `Accept: application/problem+json`. Not in Anthropic's format and not in the device flow.",
    },
  ),
};

export function accessOf({ method, grant, apiKeyHeader, browserOnly, format }: Route): Access {
  // A browser without a session is redirected to the sign-in.
  if (method === 'GET' && format === 'page') return 'none';
  if (grant === 'session' && browserOnly) return 'browser';
  if (grant === 'none' || grant === 'session' || grant === 'admin' || grant === 'signature') return grant;
  return apiKeyHeader ? 'linkKey' : 'key';
}

/** By status: the possible error codes, and their body. */
export function describeErrors(route: Route) {
  const { body, query = {}, errors = [], format } = route;
  const codes = new Set<ErrorCode>([...ACCESS_ERRORS[accessOf(route)], ...(body ? BODY_ERRORS : []), ...errors]);
  if (Object.keys(query).length > 0) codes.add('invalid_value');
  if (Object.values(query).some(({ required }) => required)) codes.add('missing_required_parameter');
  const isAnthropic = format === 'anthropic';
  const classes = { model: format === 'model' || isAnthropic, anthropic: isAnthropic };
  const byStatus = Map.groupBy(codes, (code) => errorClassOf(code, classes).status);
  const schema = bodyOf(route);
  const problem = (description: string) => ({ description, content: { 'application/json': { schema } } });
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, some]) => [status, problem(some.map((code) => `\`${code}\``).join(' '))]),
    ),
    default: problem('Any other error.'),
  };
}

const BODIES: Readonly<Partial<Record<ErrorFormat, string>>> = {
  link: 'LinkError',
  model: 'ModelError',
  anthropic: 'MessageError',
  oauth: 'OauthError',
};

function bodyOf({ format, grant }: Route) {
  const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  // The request selects the usual format or Anthropic's.
  if (typeof format === 'function') return { anyOf: [refer('Error'), refer('MessageError')] };
  return refer((format && BODIES[format]) ?? (grant === 'images' ? 'ImageError' : 'Error'));
}
