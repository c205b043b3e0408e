import { GatewayError, isGatewayError } from 'mediagate';

/** Errors of OAuth that say the provider is in trouble, or does not know this gateway: nothing the person did. */
const PROVIDER_TROUBLE = new Set(['server_error', 'temporarily_unavailable', 'invalid_client', 'unauthorized_client']);
/** Codes of the client library for what never arrived, or came as no answer of a provider. */
const NO_ANSWER = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

/** What the person is told of a failure. Nothing of the provider's own words: they may hold codes and tokens. */
export function signInFailure(error: unknown): GatewayError {
  if (isGatewayError(error) && error.code.startsWith('sign_in_')) return error;
  if (oauthErrorOf(error) === 'access_denied') {
    return new GatewayError('sign_in_failed', 'The identity provider was told not to sign you in.');
  }
  if (isTrouble(error)) return providerFailure(error);
  return new GatewayError(
    'sign_in_failed',
    'What the identity provider answered could not be verified. Sign in again.',
    {
      cause: error,
    },
  );
}

/** The provider did not do its part. */
export function providerFailure(cause: unknown): GatewayError {
  if (isGatewayError(cause) && cause.code === 'sign_in_unavailable') return cause;
  const message = 'The identity provider does not answer as it should. Try again soon.';
  return new GatewayError('sign_in_unavailable', message, { cause });
}

export async function failingAs<Result>(
  describe: (error: unknown) => GatewayError,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw describe(error);
  }
}

function isTrouble(error: unknown): boolean {
  if (PROVIDER_TROUBLE.has(oauthErrorOf(error) ?? '')) return true;
  for (let reason: unknown = error; reason instanceof Error; reason = reason.cause) {
    if (isGatewayError(reason)) return true;
    if ('code' in reason && NO_ANSWER.has(String(reason.code))) return true;
  }
  return false;
}

/** The `error` parameter of RFC 6749 that a response carried. */
function oauthErrorOf(error: unknown): string | undefined {
  return error instanceof Error && 'error' in error && typeof error.error === 'string' ? error.error : undefined;
}
