/** An app with accounts and a scripted identity provider. */

import { type Clock, type GatewayOptions, systemClock } from 'mediagate';
import devIdentity from 'mediagate/plugins/dev_identity';
import { type SignInApp as Application, Identity } from '../../../server/accounts/index.js';
import type { AccountDependencies } from '../../../server/app.js';
import { createSiteAddress } from '../../../server/http/index.js';
import type { Pepper } from '../../../server/keys/index.js';
import type { MediaProxy } from '../../../server/links/index.js';
import { type PaymentReceiver, PaymentService } from '../../../server/payments/index.js';
import { type Catalogue, DEFAULT_CATALOGUE } from '../../../server/plans/index.js';
import type { LivePrices, Prices } from '../../../server/prices/index.js';
import type { Brand } from '../../../server/site/index.js';
import { ServiceStatus } from '../../../server/status/index.js';
import { type BrowserSession, createBrowserSession, type PageAnswer } from '../../support/accounts/browser-session.js';
import type { ScriptedIssuer } from '../../support/accounts/scripted-issuer.js';
import type { Stack } from '../../support/databases/stacks.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

export interface SignInAppOptions {
  /** Default: the development identity provider. */
  issuer?: Pick<ScriptedIssuer, 'url' | 'clientId' | 'clientSecret'>;
  clock?: Clock;
  /** Default: where it listens. */
  siteUrl?: string;
  /** What the gateway is told to listen on. Default 127.0.0.1. */
  host?: string;
  /** Default: SQLite and a folder. */
  stack?: Stack;
  /** Default: the plans of the service document. */
  catalogue?: Catalogue;
  /** Default: no money is taken. */
  paymentReceiver?: PaymentReceiver;
  /** Default: nobody tells of transfers. */
  paymentSecrets?: AccountDependencies['paymentSecrets'];
  /** Default: none. */
  imageDailyLimit?: number;
  /** Whether there is no user yet, so that the first to sign in becomes the operator. Default false. */
  withoutUsers?: boolean;
  /** Whether the routes of Anthropic's format do anything. Default false. */
  messages?: boolean;
  /** Prices that operators can change. Default: there are none. */
  livePrices?: LivePrices;
  /** Beside the identity provider. Default: none. */
  plugins?: GatewayOptions['plugins'];
  /** Further parts of the gateway. Default: none. */
  gateway?: Partial<Omit<GatewayOptions, 'plugins'>>;
  /** Which requests get media links. Default `off`. */
  mediaProxy?: MediaProxy;
  /** Default: none. */
  prices?: Prices;
  /** Which accounts may top up. Default: none. */
  prepaidBalance?: 'chosen' | 'all';
  /** Applications that sign people in with the accounts. Default: none. */
  signInApps?: readonly Application[];
  /** What pages show of the operator. Default: mediagate. */
  brand?: Brand;
}

/** The real app with accounts, and a real identity provider beside it. */
export interface SignInApp extends ListeningApp {
  readonly identity: Identity;
  readonly pepper: Pepper;
  /** Signs somebody in through every page on the way; their address is `email`. */
  signIn(browser: BrowserSession, email?: string, path?: string): Promise<PageAnswer>;
  /** Goes as far as the page of the development provider. */
  begin(browser: BrowserSession, path?: string): Promise<PageAnswer>;
  /** Fills in the page of the development provider, and stops where it sends the browser back to. */
  fillIn(browser: BrowserSession, page: PageAnswer, email?: string): Promise<string>;
  /** A browser in which somebody is signed in. */
  signedIn(email?: string): Promise<BrowserSession>;
  /** Whom the session of this browser belongs to: the answer of a route that asks. */
  device(browser: BrowserSession): Promise<PageAnswer>;
}

const SESSION_COOKIE = 'mediagate';
const EARLIER_USER = { issuer: 'urn:invented:earlier', subject: 'earlier', email: null, name: null };

export async function startSignInApp(options: SignInAppOptions = {}): Promise<SignInApp> {
  const { issuer, clock, host = '127.0.0.1', stack, catalogue = DEFAULT_CATALOGUE } = options;
  const settings = {
    host,
    ...(options.signInApps && { signInApps: options.signInApps }),
    ...(issuer && { oidcIssuer: issuer.url, oidcClientId: issuer.clientId, oidcClientSecret: issuer.clientSecret }),
  };
  let identity: Identity | undefined;
  let ownPepper: Pepper | undefined;
  const app = await startApp({
    clock,
    stack,
    imageDailyLimit: options.imageDailyLimit,
    messages: options.messages,
    gateway: {
      plugins: [...(issuer ? [] : [{ use: devIdentity }]), ...(options.plugins ?? [])],
      // The way out is the real one: what it guards is part of what is tested.
      services: { http: undefined },
      ...options.gateway,
    },
    mediaProxy: options.mediaProxy,
    prices: options.prices ?? options.livePrices,
    livePrices: options.livePrices,
    brand: options.brand,
    account({ gateway, state, pepper, url }) {
      const site = createSiteAddress(() => options.siteUrl ?? url());
      ownPepper = pepper;
      identity = new Identity({ gateway, settings, site });
      const plans = { catalogue, freeTierPeriod: 'lifetime' } as const;
      const { orders, balances, ledger } = state;
      const { paymentReceiver: receiver, prepaidBalance, prices } = options;
      const payments = new PaymentService({ orders, balances, ledger, ...plans, receiver, prepaidBalance, prices });
      const { paymentSecrets = {} } = options;
      const { incidents, probes, statusHistory: history } = state;
      const about = { gateway, incidents, probes, history, acceptsOrders: payments.acceptsOrders };
      const status = new ServiceStatus({
        ...about,
        health: { checks: async () => ({ database: { ok: true, ms: 1 } }) },
        canSignIn: () => true,
        clock: clock ?? systemClock,
      });
      return { state, identity, ...plans, payments, paymentSecrets, pepper, site, status };
    },
  });
  if (!identity || !ownPepper) throw new Error('the app was started without accounts');
  const started = identity;
  if (!issuer && !options.withoutUsers) await app.state.users.signIn(EARLIER_USER);

  const begin = (browser: BrowserSession, path = '/signin') => browser.open(app.url + path);

  async function fillIn(browser: BrowserSession, page: PageAnswer, email = 'ann@example.com'): Promise<string> {
    let answer = await browser.send(page.url, { form: { email, name: '', action: 'sign-in' } });
    while (answer.location !== undefined && !answer.location.startsWith(app.url)) {
      answer = await browser.send(answer.location);
    }
    if (answer.location === undefined) throw new Error(`the provider answered ${answer.status}: ${answer.text}`);
    return answer.location;
  }

  async function signIn(browser: BrowserSession, email?: string, path?: string): Promise<PageAnswer> {
    const page = await begin(browser, path);
    if (page.status !== 200) throw new Error(`sign-in does not begin: ${page.status} ${page.text}`);
    return browser.send(await fillIn(browser, page, email));
  }

  return {
    ...app,
    identity: started,
    pepper: ownPepper,
    begin,
    fillIn,
    signIn,
    async signedIn(email) {
      const browser = createBrowserSession();
      const { status, text } = await signIn(browser, email);
      if (status !== 303 || !browser.cookie(app.url, SESSION_COOKIE)) throw new Error(`no sign-in: ${status} ${text}`);
      return browser;
    },
    device: (browser) => browser.send(`${app.url}/device`),
    async close() {
      await app.close();
      await started.close();
    },
  };
}
