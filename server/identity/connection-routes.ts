/*
 * The connected agents of the signed-in user: list and disconnect, for programs. The dashboard has the same.
 */

import { field, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { AccountServices } from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import {
  defineRoute,
  Nullable,
  paramOf,
  type RequestContext,
  type Route,
  sendJson,
  Text,
  Time,
} from '../http/index.js';
import type { AuthorizationServer } from './authorization-server.js';
import type { ConnectionRecord } from './connections.js';

const AgentSchema = Type.Object({
  id: field(Text, 'Id of the connection.', 'conn_0123456789abcdef'),
  name: field(Text, 'Name that the program gives itself.', 'Shipyard agent'),
  publisher: field(Nullable(Text), 'Host that vouches for the program. Null: it registered itself.'),
  redirectHost: field(Text, 'Host or scheme of an app to which the access went.', 'localhost:3118'),
  grants: field(Type.Array(Text), 'What the user allowed. The plan of the moment may have less.'),
  keyId: field(Text, 'Id of the key under which its usage counts.'),
  createdAt: field(Time, 'When the user allowed it (RFC 3339).'),
  lastUsedAt: field(Nullable(Time), 'When it was last used (RFC 3339). Null if never.'),
  expiresAt: field(Time, 'When its access ends (RFC 3339).'),
});
const ListSchema = Type.Object({
  agents: field(Type.Array(AgentSchema), 'The connected agents, newest first: at most 20.'),
});

export interface ConnectionServices extends AccountServices {
  authorization: Pick<AuthorizationServer, 'connections' | 'disconnect'>;
}

export function connectionRoutes({ sessions, polls, authorization }: ConnectionServices): Route[] {
  const common = { grant: 'session', tag: 'Account' } as const;

  async function userOf(context: RequestContext): Promise<string> {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    return user.id;
  }

  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/api/user/agents',
      endpoint: 'userAgents',
      summary: 'List connected agents',
      description: 'Returns the programs that may use `/mcp` for the user, and what each may do.',
      answers: { 200: { description: 'The connected agents.', schema: ListSchema } },
      async handler(context) {
        const connections = await authorization.connections(await userOf(context));
        sendJson(context, { agents: connections.map(encode) }, 'private');
      },
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/api/user/agents/:id/disconnect',
      endpoint: 'userAgentDisconnect',
      parameter: 'connection_id',
      params: { id: { description: 'Id of the connection.' } },
      summary: 'Disconnect an agent',
      description: 'Ends the access of an agent within 2 seconds on every node, and cancels its running jobs.',
      answers: { 204: { description: 'The agent is disconnected.' } },
      errors: ['agent_connection_not_found'],
      async handler(context) {
        const isEnded = await authorization.disconnect(paramOf(context, 'id'), await userOf(context));
        if (!isEnded) throw new GatewayError('agent_connection_not_found', 'There is no connected agent with this id.');
        context.status = 204;
      },
    }),
  ];
}

function encode({ id, name, host, redirectHost, grants, keyId, createdAt, lastUsedAt, expiresAt }: ConnectionRecord) {
  const times = { createdAt: isoTime(createdAt), lastUsedAt: isoTime(lastUsedAt), expiresAt: isoTime(expiresAt) };
  return { id, name, publisher: host, redirectHost, grants, keyId, ...times };
}
