/*
 * The check of sign-in: whether the configured provider answers, whether passkeys are of the present host name, and
 * whether the gateway has an operator.
 */

import { type Logger, systemClock } from '../../core/runtime/index.js';
import { Identity, OidcClient } from '../accounts/index.js';
import { isStateThere, readSchema } from '../backup/index.js';
import { createSiteAddress, localAddress } from '../http/index.js';
import { newToken } from '../keys/index.js';
import { openGateway } from '../open-gateway.js';
import { endedPasskeys } from '../passkeys/index.js';
import type { Settings } from '../settings/index.js';
import { openRecordsOf } from '../state.js';
import type { Finding } from './checks.js';

/** The message of the first cause: libraries wrap it in general words. */
function reasonOf(error: unknown): string {
  let reason = error;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  return reason instanceof Error ? reason.message : String(reason);
}

/** Whether users can sign in. Requests the metadata of a configured issuer. */
export async function checkSignIn(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<Finding> {
  const name = 'sign-in';
  if (!settings.site) return { name, level: 'ok', detail: 'off: SITE is off' };
  const { siteUrl, baseUrl } = settings;
  const site = createSiteAddress(() => siteUrl ?? baseUrl ?? localAddress(settings));
  const gateway = await openGateway({ settings, environment, logger, baseUrl: () => site().url, readOnly: true });
  try {
    const identity = new Identity({ gateway, settings, site });
    const { state, oidc, provider = '', standIn, reason, passkeys } = identity.status();
    if (state === 'off') {
      return { name, level: 'warn', detail: 'sign-in is not available', advice: `${reason} ${passkeys.reason}` };
    }
    if (oidc === 'off') return checkPasskeys(settings, logger, passkeys.host ?? '');
    if (standIn) return { name, level: 'ok', detail: `${provider}, for development: anyone can sign in as anyone` };
    const secrets = { state: newToken(), nonce: newToken(), codeVerifier: newToken() };
    await new OidcClient({ identity, gateway, clock: systemClock }).begin(secrets, `${site().url}/signin/callback`);
    return { name, level: 'ok', detail: `${provider} answers` };
  } catch (error) {
    const detail = reasonOf(error);
    return { name, level: 'fail', detail, advice: 'Check OIDC_ISSUER and its connection.' };
  } finally {
    await gateway.close();
  }
}

/** Whether passkeys of users are of this host name, and whether there is an operator. */
async function checkPasskeys(settings: Settings, logger: Logger, host: string): Promise<Finding> {
  const name = 'sign-in';
  const detail = `with passkeys of ${host}`;
  if (!(await isStateThere(settings)) || (await readSchema(settings)).pending.length > 0)
    return { name, level: 'ok', detail };
  const state = await openRecordsOf(settings, logger);
  try {
    const ended = await state.passkeys.countElsewhere(host);
    if (ended > 0) return { name, level: 'warn', detail, advice: endedPasskeys(ended, host) };
    if (await state.users.hasOperator()) return { name, level: 'ok', detail };
    // So it is before the first start, which prints the link.
    const advice =
      'Next: start the gateway, or run "mediagate users invite --operator", and open the link that it prints.';
    return { name, level: 'ok', detail: `${detail}; the first operator has not signed in yet`, advice };
  } finally {
    await state.close();
  }
}
