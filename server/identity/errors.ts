/*
 * Error codes of sign-in for agents.
 */

import { BAD_REQUEST, type DeclaredCodes, declareErrors, NOT_FOUND } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof identityErrors> {}
}

const identityErrors = declareErrors({
  agent_request_invalid: {
    ...BAD_REQUEST,
    meaning: 'A program asked for access in a way that is not accepted, or too long ago.',
    cause:
      'The program is not known, its address to return to is not one that it registered, its document cannot be read, or the request has expired or began in another browser.',
    action: 'Connect the program again. If that does not help, the message names what its maker must change.',
  },
  agent_connection_not_found: {
    ...NOT_FOUND,
    meaning: 'The account has no connected agent with this id.',
    cause: 'The connection has ended or expired, or belongs to another account.',
    action: 'List the connected agents with `GET /api/user/agents`.',
  },
  agent_sign_in_unavailable: {
    ...NOT_FOUND,
    meaning: 'Agents cannot sign in at this gateway.',
    cause: '`MCP_SIGN_IN` or `MCP_ENABLED` is off, the site has no sign-in, or its address has no https.',
    action: 'Use an API key as bearer token, or set `BASE_URL` to an https address and configure sign-in.',
  },
});
