/*
 * Error codes of the endpoint for agents.
 */

import { type DeclaredCodes, declareErrors, FORBIDDEN } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof mcpErrors> {}
}

const mcpErrors = declareErrors({
  origin_not_allowed: {
    ...FORBIDDEN,
    meaning: 'The endpoint of agents is not for this web page or under this host name.',
    cause: 'The header `Origin` names another site, or on loopback the header `Host` names no address of the gateway.',
    action: 'Call the address in `BASE_URL`; for a page, add its origin to `CORS_ORIGINS`.',
  },
});
