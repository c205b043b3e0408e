/** Errors of the local text upstream. */

import type { TextUpstreamRequest } from './text-upstream-request.js';

/** A refusal in the vendor's shape. */
export interface TextUpstreamError {
  status: number;
  code?: string | null;
  type?: string;
  param?: string | null;
  message?: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent instead of the vendor's JSON. */
  text?: string;
}

/** What the vendor says to a request that is wrong; undefined to one that is not. */
export function faultOf(
  { method, path, headers, members }: TextUpstreamRequest,
  expected: { apiKey?: string; models?: readonly string[] },
): TextUpstreamError | undefined {
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

export function errorBody({
  status,
  code = null,
  type,
  param = null,
  message = 'It failed.',
}: TextUpstreamError): string {
  const usual = status < 500 ? 'invalid_request_error' : 'server_error';
  return JSON.stringify({ error: { message, type: type ?? usual, param, code } }, null, 2);
}
