/*
 * Error codes of API keys: a key that is missing, ended or replaced, and what a key may not do.
 */

import {
  CONFLICT,
  type DeclaredCodes,
  declareErrors,
  FORBIDDEN,
  NOT_FOUND,
  UNAUTHENTICATED,
} from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof keyErrors> {}
}

const MAKE_KEY = 'Create another key on the dashboard, or ask the operator for one.';

const keyErrors = declareErrors({
  missing_api_key: {
    ...UNAUTHENTICATED,
    meaning: 'The request has no API key.',
    cause: 'The header `Authorization: Bearer …` is missing.',
    action: 'Send an API key.',
  },
  invalid_api_key: {
    ...UNAUTHENTICATED,
    meaning: 'The API key does not exist.',
    cause: 'The key is mistyped, or belongs to another gateway.',
    action: 'Check the key. A key is shown only once, so a lost one cannot be read again.',
  },
  expired_api_key: {
    ...UNAUTHENTICATED,
    meaning: 'The API key has expired.',
    cause: 'The key had an expiry date.',
    action: MAKE_KEY,
  },
  revoked_api_key: {
    ...UNAUTHENTICATED,
    meaning: 'The API key was revoked.',
    cause: 'Its owner or the operator revoked it, or its rotation is over.',
    action: MAKE_KEY,
  },
  route_not_allowed: {
    ...FORBIDDEN,
    meaning: 'The API key may not use this route.',
    cause: 'The key lacks the grant of the route, or the operator has disabled the route.',
    action: 'Use a key with the grant. The operator adds grants by plan or by key.',
  },
  model_not_allowed: {
    ...FORBIDDEN,
    meaning: 'The plan of the API key does not include the model.',
    cause: 'The free tier and some plans have a list of models.',
    action: 'Choose a model that `GET /v1/models` lists for the key, or change the plan.',
  },
  vendor_id_not_allowed: {
    ...FORBIDDEN,
    meaning: 'The request refers to something stored at the model vendor.',
    cause: 'An id of a file, prompt or conversation was sent, and the key lacks the grant `vendor_ids`.',
    action: 'Send the content itself.',
  },
  paid_tool_not_allowed: {
    ...FORBIDDEN,
    meaning: 'The request uses a tool of the vendor that costs more than tokens.',
    cause:
      'The request chooses a hosted tool such as web search, or a tier, and the key, which has a plan or a budget, lacks the grant `paid_tools`.',
    action: 'Leave the tool out, or use your own function instead.',
  },
  ip_not_allowed: {
    ...FORBIDDEN,
    meaning: 'The API key may not be used from this address.',
    cause: 'Reserved: no setting leads to it yet.',
    action: 'Ask the operator.',
  },
  key_not_found: {
    ...NOT_FOUND,
    meaning: 'The API key does not exist in this account.',
    cause: 'Its id is mistyped, or belongs to another account.',
    action: 'List the keys of the account.',
  },
  key_exists: {
    ...CONFLICT,
    meaning: 'The account already has a valid API key.',
    cause: '`POST /api/user` creates only the first key.',
    action: 'Create further keys with `POST /api/user/keys`, or rotate the key.',
  },
  too_many_keys: {
    ...CONFLICT,
    meaning: 'The account has the maximum number of API keys.',
    cause: 'An account has at most ten valid keys.',
    action: 'Revoke a key first.',
  },
  key_replaced: {
    ...CONFLICT,
    meaning: 'The API key was already rotated.',
    cause: 'A key that was rotated before was rotated or changed again.',
    action: 'Use the key that replaced it.',
  },
});
