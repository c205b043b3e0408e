/** Faults of requests to the local text upstream. */

import type { OpenaiError } from './openai-error.js';
import type { TextUpstreamRequest } from './text-upstream-request.js';

/** What the vendor says to a request that is wrong; undefined to one that is not. */
export function faultOf(
  { method, path, headers, members }: TextUpstreamRequest,
  expected: { apiKey?: string; models?: readonly string[] },
): OpenaiError | undefined {
  if (expected.apiKey !== undefined && headers.authorization !== `Bearer ${expected.apiKey}`) {
    const message = `Incorrect API key provided: ${headers.authorization?.slice(7)}. You can find yours in your account.`;
    return { status: 401, code: 'invalid_api_key', message };
  }
  if (method !== 'POST' || path.endsWith('/cancel')) return undefined;
  const missing = (param: string) => ({
    status: 400,
    code: 'missing_required_parameter',
    param,
    message: `Missing required parameter: '${param}'.`,
  });
  if (members.model === undefined) return missing('model');
  if (expected.models && !expected.models.includes(String(members.model))) {
    const message = `The model \`${members.model}\` does not exist or you do not have access to it.`;
    return { status: 404, code: 'model_not_found', message };
  }
  if (path.endsWith('/chat/completions') && members.messages === undefined) return missing('messages');
  return undefined;
}
