/*
 * Verifies access tokens of agents. A token is valid until it expires, for the address of `/mcp` that it was made for,
 * and as long as the key of its connection: that one is revoked when the connection ends, and every node reads this
 * within 2 s. So a token that was verified once costs a digest and no query; the latest 10,000 are remembered.
 */

import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { Middleware } from '../http/index.js';
import { type ApiKeyRecord, type createAuth, hashToken, isAgentToken, type KeyTable } from '../keys/index.js';
import type { AccessTokenRecord, Artifacts } from './artifacts.js';
import type { AuthorizationServer } from './authorization-server.js';

const MAX_REMEMBERED = 10_000;

export interface AgentTokensOptions {
  artifacts: Pick<Artifacts, 'findAccessToken'>;
  keys: Pick<KeyTable, 'admitId' | 'clock'>;
  /** The address that tokens must be for. */
  resource(): string;
}

export class AgentTokens {
  readonly #options: AgentTokensOptions;
  readonly #known = new Map<string, AccessTokenRecord>();

  constructor(options: AgentTokensOptions) {
    this.#options = options;
  }

  /**
   * The key of the connection that a token belongs to. Undefined if the text is no such token.
   * @throws GatewayError `invalid_api_key`, `revoked_api_key`, `expired_api_key`, `account_suspended`.
   */
  verify(text: string): Promise<ApiKeyRecord> | undefined {
    return isAgentToken(text) ? this.#verify(text) : undefined;
  }

  async #verify(token: string): Promise<ApiKeyRecord> {
    const { artifacts, keys, resource } = this.#options;
    const digest = hashToken(token);
    const found = this.#known.get(digest) ?? (await artifacts.findAccessToken(token));
    if (!found || found.expiresAt <= keys.clock.now() || found.audience !== resource()) {
      const message = 'This access token is not valid: it has expired, was revoked, or is for another address.';
      throw new GatewayError('invalid_api_key', message);
    }
    this.#remember(digest, found);
    try {
      return await keys.admitId(found.keyId);
    } catch (error) {
      // The user knows an agent, and no key.
      if (!isGatewayError(error) || error.code !== 'revoked_api_key') throw error;
      throw new GatewayError('revoked_api_key', 'This agent was disconnected. Sign in again to connect it.');
    }
  }

  /** Beyond the maximum, the oldest is forgotten. */
  #remember(digest: string, found: AccessTokenRecord): void {
    if (this.#known.size >= MAX_REMEMBERED && !this.#known.has(digest)) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(digest, found);
  }
}

interface AgentAuthOptions {
  authorization: AuthorizationServer;
  agentTokens: AgentTokens;
}

/** Checks the keys of agents, and their tokens; a refusal says where an agent can sign in. */
export function createAgentAuth(
  auth: ReturnType<typeof createAuth>,
  { authorization, agentTokens }: AgentAuthOptions,
): typeof auth {
  return (route): Middleware => {
    const check = auth({ ...route, verifyToken: (text) => agentTokens.verify(text) });
    return (context, next) => {
      context.state.challenge = (reason) =>
        authorization.isAvailable() ? authorization.challenge(context.req, reason) : undefined;
      return check(context, next);
    };
  };
}
