/** An app with an operator, and rows with hostile names in everything that the console lists. */

import { createHash } from 'node:crypto';
import { type CheerioAPI, load } from 'cheerio';
import { createPepper } from '../../../server/keys/index.js';
import type { BrowserSession, PageAnswer } from '../../support/accounts/browser-session.js';
import { order, signUp, transfer } from '../../support/accounts/people.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { type SignInApp, type SignInAppOptions, startSignInApp } from '../accounts/sign-in-app.js';

/** Ends tags, attributes and scripts, and turns the direction of what follows. */
export const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e`;

export interface ConsoleApp {
  app: SignInApp;
  operator: BrowserSession;
  operatorId: string;
  member: BrowserSession;
  /** A page of the operator. */
  read(path: string, browser?: BrowserSession): Promise<PageAnswer & { page: CheerioAPI }>;
  /** Sends a form of the operator. */
  post(path: string, form?: Record<string, string>): Promise<PageAnswer & { page: CheerioAPI }>;
}

export async function startConsoleApp(options: SignInAppOptions = {}): Promise<ConsoleApp> {
  const app = await startSignInApp({ catalogue: PRICED_PLANS, paymentReceiver: EURO_RECEIVER, ...options });
  const operator = await app.signedIn('operator@example.com');
  const [person] = await app.state.users.findByEmail('operator@example.com');
  if (!person) throw new Error('the operator did not sign in');
  await app.state.users.setRole({ userId: person.id, role: 'operator', actor: 'operator:test' });
  const member = await app.signedIn('member@example.com');
  const withPage = (answer: PageAnswer) => ({ ...answer, page: load(answer.text) });
  return {
    app,
    operator,
    operatorId: person.id,
    member,
    read: async (path, browser = operator) => withPage(await browser.send(app.url + path)),
    post: async (path, form = {}) => withPage(await operator.send(app.url + path, { form })),
  };
}

/** One of everything, with names that are markup. */
export async function fillHostile({ state }: SignInApp) {
  const identity = { issuer: `urn:${HOSTILE}`, subject: HOSTILE, email: `${HOSTILE}@x.example`, name: HOSTILE };
  const user = await state.users.signIn({ ...identity, issuer: 'urn:hostile' });
  const pepper = createPepper(Buffer.alloc(32, 'console'));
  const { orders } = await useAccount(state, user, pepper);
  // By its name: keys of one millisecond have no order, and another of them is replaced.
  const key = (await state.keys.listOf(user.accountId)).find(({ name }) => name === 'laptop')!;
  await state.budgets.changeKey({
    id: key.id,
    accountId: user.accountId,
    properties: { name: HOSTILE.slice(0, 100) },
    actor: `user:${HOSTILE}`,
    note: HOSTILE,
  });
  const review = await order(state, user.accountId);
  await state.orders.record(transfer(`${review.code} ${HOSTILE}`, { amount: 1_500 }));
  const unmatched = transfer(HOSTILE, { provider: 'bank', id: `x-${createHash('md5').update(HOSTILE).digest('hex')}` });
  await state.orders.record(unmatched);
  await state.incidents.add({
    title: HOSTILE,
    kind: 'degraded',
    message: HOSTILE,
    startedAt: Date.now() - 60_000,
    actor: `operator:${HOSTILE}`,
  });
  const detail = { of: 'key', name: HOSTILE, unit: 'tokens', limit: 9, used: 8, resets: 'day' };
  const [alert] = await state.alerts.note([{ kind: 'budget_low', subject: HOSTILE, detail }]);
  await state.budgets.createGroup('research', {
    budgets: [{ unit: 'requests', amount: 500, currency: null, resets: 'day' }],
    actor: `operator:${HOSTILE}`,
  });
  await state.balances.setEligible({ accountId: user.accountId, actor: 'operator:test', note: HOSTILE }, true);
  await state.invitations.invite({ role: 'member', name: HOSTILE.replace('\u202e', ''), actor: `operator:${HOSTILE}` });
  return { alert: alert!, user, orders, review, unmatched, key, other: await signUp(state) };
}
