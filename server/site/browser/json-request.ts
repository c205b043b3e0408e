import { member } from './json-members.js';

/** What the gateway said no with: its own words and code. */
export class RequestProblem extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** @throws RequestProblem for whatever is not a 2xx with JSON, and where there is no network. */
export async function requestJson(method: string, path: string, body?: unknown): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: { Accept: 'application/json', ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new RequestProblem('The gateway cannot be reached. Check the connection and try again.', 'unreachable', 0);
  }
  if (!response.ok) throw await problemOf(response);
  return response.json().catch(() => undefined);
}

/** What an answer that is no 2xx says no with. */
export async function problemOf(response: Response): Promise<RequestProblem> {
  const json: unknown = await response.json().catch(() => undefined);
  const message = memberOf(json, 'error.message');
  const code = memberOf(json, 'error.code');
  return new RequestProblem(message ?? 'This did not work. Try again in a moment.', code ?? 'unknown', response.status);
}

/** Text or number at a path of members: `payment.code`. */
export function memberOf(json: unknown, path: string): string | undefined {
  const value = member(json, path);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
