/*
 * The catalogues of all pages, by language. A catalogue is a file of `texts` for one page or part, with both languages
 * below each other; the Vietnamese object has the type of the English one, so the compiler reports a text that is
 * missing. A text is a string, or a function of what stands in it. Texts for scripts are strings alone, with `{name}`
 * for values, since they reach the browser as JSON.
 */

import type { LanguageCode } from './formats.js';
import { agents } from './texts/agents.js';
import { balance } from './texts/balance.js';
import { connect } from './texts/connect.js';
import { consoleTexts } from './texts/console/console.js';
import { dashboard } from './texts/dashboard.js';
import { documentation } from './texts/documentation.js';
import { errors } from './texts/errors/errors.js';
import { failure } from './texts/errors/failure.js';
import { home } from './texts/home.js';
import { images } from './texts/images.js';
import { keys } from './texts/keys.js';
import { layout } from './texts/layout.js';
import { models } from './texts/models.js';
import { nextSteps } from './texts/next-steps.js';
import { orders } from './texts/orders.js';
import { passkeys } from './texts/passkeys.js';
import { payment } from './texts/payment.js';
import { plans } from './texts/plans.js';
import { playgroundAudio } from './texts/playground/audio.js';
import { playgroundBatch } from './texts/playground/batch.js';
import { playgroundChat } from './texts/playground/chat.js';
import { examples } from './texts/playground/examples.js';
import { playgroundLinks } from './texts/playground/links.js';
import { playground } from './texts/playground/playground.js';
import { reference } from './texts/reference.js';
import { setup } from './texts/setup.js';
import { signIn } from './texts/sign-in.js';
import { status } from './texts/status.js';
import { usage } from './texts/usage.js';
import { words } from './texts/words.js';

const CATALOGUES = {
  agents,
  connect,
  console: consoleTexts,
  dashboard,
  documentation,
  errors,
  examples,
  failure,
  home,
  keys,
  images,
  layout,
  models,
  nextSteps,
  balance,
  orders,
  passkeys,
  payment,
  playground,
  playgroundAudio,
  playgroundBatch,
  playgroundChat,
  playgroundLinks,
  plans,
  reference,
  setup,
  signIn,
  status,
  usage,
  words,
};

export type Texts = { readonly [Name in keyof typeof CATALOGUES]: (typeof CATALOGUES)[Name]['en'] };

export const TEXTS: Readonly<Record<LanguageCode, Texts>> = { en: ofLanguage('en'), vi: ofLanguage('vi') };

function ofLanguage(code: LanguageCode): Texts {
  return Object.fromEntries(Object.entries(CATALOGUES).map(([name, catalogue]) => [name, catalogue[code]])) as Texts;
}
