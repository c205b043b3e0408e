/** The error code that a call ends with. */

import { isGatewayError } from '../../core/runtime/errors.js';

/** The code of the GatewayError that a call ends with; `ok` where it does not fail. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (isGatewayError(error)) return error.code;
    throw error;
  }
}
