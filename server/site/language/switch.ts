/*
 * The route of the switch in the header. It keeps the language in a cookie for a year, and of a signed-in user in the
 * account as well. Then it returns to the page with the switch, which the browser names as the referrer.
 */

import { Type } from '../../../core/contracts/index.js';
import { GatewayError } from '../../../core/runtime/index.js';
import type { AccountServices, Users } from '../../accounts/index.js';
import {
  defineRoute,
  networkOwner,
  type RequestContext,
  type Route,
  readForm,
  readReturnPath,
  type SiteAddress,
  seeOther,
  setCookie,
} from '../../http/index.js';
import { isLanguage, LANGUAGE_COOKIE, LANGUAGES } from './language.js';

const MAX_FORM_BYTES = 256;
const YEAR_SECONDS = 365 * 24 * 3_600;

interface LanguageServices extends Pick<AccountServices, 'site' | 'sessions' | 'polls' | 'publicBodies' | 'addressOf'> {
  users: Pick<Users, 'setLanguage'>;
}

export function languageRoutes(services: LanguageServices): Route[] {
  const { site, sessions, users, polls, publicBodies, addressOf } = services;
  return [
    defineRoute({
      method: 'POST',
      grant: 'session',
      format: 'page',
      tag: 'Pages',
      path: '/language',
      summary: 'Choose the language',
      description:
        'Sets the language of the pages, for this browser and for the account, and returns to the page that has the form.',
      body: {
        type: 'application/x-www-form-urlencoded',
        schema: Type.Object({ language: Type.String({ description: '`en` or `vi`.' }) }),
      },
      answers: { 303: { description: 'To the page before.' } },
      errors: ['invalid_value'],
      async handler(context) {
        const limits = { maxBytes: MAX_FORM_BYTES, budget: publicBodies, owner: networkOwner(addressOf(context.req)) };
        const { language } = await readForm(context.req, context.res, limits);
        if (!isLanguage(language)) {
          const accepted = LANGUAGES.map(({ code }) => code).join(' or ');
          throw new GatewayError('invalid_value', `language must be ${accepted}.`, { param: 'language' });
        }
        const user = (await sessions.find(context))?.user;
        if (user) {
          polls.admit(user.id);
          await users.setLanguage(user.id, language);
        }
        setCookie(context, site(), { name: LANGUAGE_COOKIE, value: language, maxAgeSeconds: YEAR_SECONDS });
        seeOther(context, site().url + pathBefore(context, site()));
      },
    }),
  ];
}

/** The page that sent the form; the home page if the browser does not say. */
function pathBefore({ req }: RequestContext, site: SiteAddress): string {
  const before = URL.parse(req.headers.referer ?? '');
  if (before?.origin !== site.origin) return '/';
  try {
    return readReturnPath(before.pathname + before.search, site);
  } catch {
    return '/';
  }
}
