import { randomBytes } from 'node:crypto';
import type { GatewayError } from '../runtime/index.js';

export const DONE_EVENT = 'data: [DONE]\n\n';

/** What a stream of the responses route said of itself before it broke off. */
export interface BrokenResponse {
  id?: string;
  /** Seconds since 1970. */
  createdAt?: number;
  /** Of the last event; -1 where there was none. */
  sequenceNumber: number;
  model: string;
}

/** Ends a chat stream that broke off: SDKs throw at the first of the two, readers that know no better stop at the second. */
export function chatFailure(error: GatewayError, requestId: string): string {
  const { message, code } = error;
  const told = { message, type: typeOf(error), param: null, code, request_id: requestId };
  return `data: ${JSON.stringify({ error: told })}\n\n${DONE_EVENT}`;
}

/** Ends a stream of the responses route that broke off: with all members that a response has to have. */
export function responsesFailure(error: GatewayError, broken: BrokenResponse, now: number): string {
  const { id, createdAt, sequenceNumber, model } = broken;
  const response = {
    id: id ?? `resp_${randomBytes(24).toString('hex')}`,
    object: 'response',
    created_at: createdAt ?? Math.floor(now / 1000),
    status: 'failed',
    background: false,
    error: { code: 'server_error', message: error.message },
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    usage: null,
  };
  const event = { type: 'response.failed', sequence_number: sequenceNumber + 1, response };
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\n`;
}

function typeOf({ code }: GatewayError): string {
  if (code === 'upstream_timeout') return 'timeout_error';
  return code === 'shutting_down' ? 'overloaded_error' : 'server_error';
}
