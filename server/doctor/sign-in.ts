import { isGatewayError, type Logger, systemClock } from 'mediagate';
import { createIdentity, createOidcClient } from '../accounts/index.js';
import { createSiteAddress, localAddress } from '../http/index.js';
import { newToken } from '../keys/index.js';
import { openGateway } from '../open-gateway.js';
import type { Settings } from '../settings/index.js';
import { type Finding, messageOf } from './check.js';

/** Whether people can sign in. An issuer that is configured is asked what it can do. */
export async function checkSignIn(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<Finding> {
  const name = 'sign-in';
  if (!settings.site) return { name, level: 'ok', detail: 'off: SITE is off' };
  const { siteUrl, baseUrl } = settings;
  const site = createSiteAddress(() => siteUrl ?? baseUrl ?? localAddress(settings));
  const gateway = await openGateway({ settings, environment, logger, baseUrl: () => site().url, lookOnly: true });
  try {
    const identity = createIdentity({ gateway, settings, site });
    const { state, provider = '', standIn, reason } = identity.status();
    if (state === 'off') return { name, level: 'warn', detail: 'nobody can sign in', advice: reason };
    if (standIn) return { name, level: 'ok', detail: `${provider}, for development: anyone can sign in as anyone` };
    const secrets = { state: newToken(), nonce: newToken(), codeVerifier: newToken() };
    await createOidcClient({ identity, gateway, clock: systemClock }).begin(secrets, `${site().url}/signin/callback`);
    return { name, level: 'ok', detail: `${provider} answers` };
  } catch (error) {
    const detail = messageOf(isGatewayError(error) ? (error.cause ?? error) : error);
    return { name, level: 'fail', detail, advice: 'Check OIDC_ISSUER, and that it can be reached from here.' };
  } finally {
    await gateway.close();
  }
}
