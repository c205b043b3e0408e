/*
 * Error codes of HTTP: routes, methods, forms of answers and bodies, and slow clients.
 */

import { type DeclaredCodes, declareErrors, NOT_FOUND } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof httpErrors> {}
}

const httpErrors = declareErrors({
  route_not_found: {
    ...NOT_FOUND,
    meaning: 'The address does not exist.',
    cause: 'The path is mistyped, or the operator has switched its part off.',
    action: 'Compare the path with the list of routes.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    meaning: 'The route exists, but not for this HTTP method.',
    cause: 'GET was sent in place of POST, or the like.',
    action: 'Use a method that the message names.',
  },
  upgrade_not_supported: {
    status: 426,
    type: 'invalid_request_error',
    meaning: 'The route does not speak WebSocket, or the request asks for none.',
    cause:
      'A WebSocket was asked of another route than `/v1/responses`, without the headers of RFC 6455, or of a gateway on Node before 24.9; or `GET /v1/responses` came without asking for one.',
    action: 'Send the request over HTTP, with `"stream": true` for a stream. Coding agents do this by themselves.',
  },
  format_not_supported: {
    status: 501,
    type: 'invalid_request_error',
    shouldRetry: false,
    meaning: 'The gateway cannot answer in this format.',
    cause: '`GET /v1/oembed` was asked for XML.',
    action: 'Ask for JSON: `format=json`, or no `format`.',
  },
  request_timeout: {
    status: 408,
    type: 'timeout_error',
    retryable: true,
    meaning: 'The request did not arrive in time.',
    cause: 'The connection is slow, or the client stopped sending.',
    action: 'Send the request again.',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    meaning: 'The body has a content type that the route does not accept.',
    cause: 'The header `Content-Type` is missing or wrong, or the body has a coding that is not accepted.',
    action: 'Send the content type that the message names; a compressed body as gzip, deflate, br or zstd.',
  },
});
