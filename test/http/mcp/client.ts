/** Clients of the endpoint for agents: the protocol's own, and one that sends single requests of revision 2026-07-28. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Answer, ListeningApp } from '../http/listening-app.js';

export const MODERN = '2026-07-28';
const TASKS = 'io.modelcontextprotocol/tasks';

/** A connected client of the SDK, of revision 2025-11-25. As agents do, it checks each result against the listed schemas. */
export async function connect(app: Pick<ListeningApp, 'url'>, key: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const headers = { authorization: `Bearer ${key}` };
  // biome-ignore lint/suspicious/noExplicitAny: the SDK is compiled without exact optional properties
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit: { headers } }) as any;
  await client.connect(transport);
  await client.listTools();
  return client;
}

export interface ModernOptions {
  headers?: Record<string, string>;
  /** Whether the client takes tasks. Default false. */
  tasks?: boolean;
  progressToken?: string;
  /** Id of the request. Default: the next number. */
  id?: string;
  /** Fields of the parameters besides those of the method. Default: none. */
  more?: object;
  /** Revision of the protocol; of an earlier one the client sends no envelope. Default {@link MODERN}. */
  revision?: string;
  signal?: AbortSignal;
}

/** Sends single requests, of revision 2026-07-28 unless another one is asked for. */
export function modernClient(app: Pick<ListeningApp, 'request'>, key: string) {
  let count = 0;

  async function send(
    method: string,
    params: Record<string, unknown> = {},
    options: ModernOptions = {},
  ): Promise<Answer> {
    count += 1;
    const { tasks = false, headers = {}, progressToken, signal, id = count, more, revision = MODERN } = options;
    const isModern = revision === MODERN;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': tasks ? { extensions: { [TASKS]: {} } } : {},
      ...(progressToken !== undefined && { progressToken }),
    };
    const name = params.name ?? params.taskId;
    return app.request('/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        ...(isModern && { 'mcp-method': method, ...(typeof name === 'string' && { 'mcp-name': name }) }),
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        method,
        params: { ...params, ...(isModern && { _meta: meta }), ...more },
      }),
      ...(signal && { signal }),
    });
  }

  return {
    send,
    call: (name: string, input: unknown = {}, options?: ModernOptions) =>
      send('tools/call', { name, arguments: input }, options),
  };
}

/** The messages of an answer of events. */
export function messagesOf({ text }: Pick<Answer, 'text'>) {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}
