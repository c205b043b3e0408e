/**
 * A gateway that is in use, and its pages with their states: empty, full, after an answer, failed, without a connection.
 * Links lead to the plugins' recorded samples, and pictures of platforms are invented scenes: nothing leaves the machine.
 */

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger, systemClock } from 'mediagate';
import type { Browser, BrowserContext } from 'playwright-core';
import type { TopUpTerms } from '../../../server/plans/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { findChromium } from '../../../server/settings/executables.js';
import { loadPeppers } from '../../../server/settings/secrets.js';
import { readSettings } from '../../../server/settings/settings.js';
import { openState, type State } from '../../../server/state.js';
import { answersFromSamples, linkSamples, videoSample } from '../../demo/link-samples.js';
import { SUBTITLES } from '../../demo/subtitles.js';
import { PRICED_PLANS } from '../accounts/priced-plans.js';
import { useAccount } from '../accounts/used-account.js';
import { type AnswerRequest, startReplayingProxy } from '../links/replaying-proxy.js';
import { packageRoot } from '../package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../processes/gateway-process.js';
import { isPicture, pictureOf } from '../scenes/index.js';
import { until } from '../until.js';
import { launchPageBrowser, signInAs } from './page-browser.js';
import {
  accountPages,
  type ConsoleSubjects,
  consolePages,
  emptyPages,
  publicPages,
  type SitePage,
  type UsedPages,
} from './site-pages.js';
import { fillGallery } from './used-gallery.js';

const EMAIL = 'rosalind@harbour.example';
const OPERATOR = 'tove@harbour.example';
const POLL_MS = 200;

const ASKED = [
  'Which of these harbours has the deepest berth?',
  'Tàu kéo vào cảng lúc mấy giờ?',
  `Write a notice to mariners about the dredging of the northern basin. ${'It lasts until Friday, and tugs are available. '.repeat(6)}`,
  'متى يفتح الميناء؟',
];

/** A name, since passkeys and invitations work at no address. */
const HOST = 'localhost';
/** The gateway, and its identity provider. */
const LOCAL: ReadonlySet<string> = new Set([HOST, '127.0.0.1']);

const PAYMENT = {
  PAYMENT_BANK_NAME: 'Harbour Bank',
  PAYMENT_ACCOUNT: 'DE89370400440532013000',
  PAYMENT_ACCOUNT_NAME: 'Mediagate Ltd',
  PAYMENT_FORMAT: 'epc',
};

const APPS = {
  SIGN_IN_APPS:
    'grafana=https://grafana.harbour.example/login/generic_oauth,chat=https://chat.harbour.example/callback',
};

const PLANS = {
  publicPriceTablesVisible: PRICED_PLANS.publicPriceTablesVisible,
  support: { text: PRICED_PLANS.support.text, email: PRICED_PLANS.support.email },
  plans: [
    ...PRICED_PLANS.prices.map(({ planId, amount, currency }) => ({
      id: planId,
      price: { amount, currency },
      grants: ['extract', 'images'],
    })),
    { id: 'token_300m', grants: ['extract', 'images'] },
  ],
};

const PRICES = {
  currency: 'EUR',
  models: {
    'm-5.5': { input: 0.25, cachedInput: 0.025, output: 2 },
    'm-5.4': { input: 0.2, cachedInput: 0.02, output: 1.6 },
    'm-5.4-mini': { input: 0.05, cachedInput: 0.005, output: 0.4 },
    'm-5.3-code': { input: 0.25, cachedInput: 0.025, output: 2 },
    'm-5.2-code': { input: 0.18, cachedInput: 0.018, output: 1.4 },
    'm-5.2': { input: 0.18, cachedInput: 0.018, output: 1.4 },
    'm-5.1-code-max': { input: 0.3, cachedInput: 0.03, output: 2.4 },
    'm-5.1-code-mini': { input: 0.04, output: 0.3 },
    'm-5-code': { input: 0.12, output: 1 },
    'm-5-code-mini': { input: 0.03, output: 0.24 },
    echo: { input: 0.25, output: 2 },
    'gen-img-2': { images: [{ size: '1024x1024', price: 0.042 }, { price: 0.063 }] },
    'gen-image-2': { images: [{ price: 0.05 }] },
    'stt-large-v3': { second: 0.0001 },
    'stt-large-v3-turbo': { second: 0.00005 },
    tts_multilingual_v2: { characters: 15 },
    tts_v3: { characters: 20 },
    tts_flash_v2_5: { characters: 8 },
    tts_turbo_v2_5: { characters: 8 },
  },
  links: [{ price: 0.002 }],
};

/** A package of a prepaid balance; its id is what pages show of one that the plans do not name. */
const TOP_UP: TopUpTerms = {
  planId: '20 EUR prepaid',
  credit: 20_000_000,
  currency: 'EUR',
  lowBelow: 2_000_000,
  grants: ['text'],
  rpm: 30,
  models: null,
};

export interface UsedSite {
  readonly url: string;
  readonly browser: Browser;
  /** Visits every page once, as those who see it: `visit` gets a browser in which they are signed in or not. */
  forEachPage(visit: (page: SitePage, context: BrowserContext) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Starts the gateway and a browser. */
export async function openUsedSite(): Promise<UsedSite> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-used-'));
  const chromium = await findChromium({ searchPath: process.env.PATH }, path.join(packageRoot, 'dist', 'test-browser'));
  if (!chromium) throw new Error('There is no Chromium on this machine. BROWSER_PATH names one.');
  const plansFile = path.join(folder, 'plans.json');
  const pricesFile = path.join(folder, 'prices.json');
  await Promise.all([writeFile(plansFile, JSON.stringify(PLANS)), writeFile(pricesFile, JSON.stringify(PRICES))]);
  const proxy = await startReplayingProxy({ answer: answerOfPlatforms() });
  const gateway = await startGatewayProcess({
    proxy,
    environment: { HOST, ...PAYMENT, ...APPS, PLANS_FILE: plansFile, PRICES_FILE: pricesFile },
  });
  const state = await openState({
    dataDir: gateway.dataFolder,
    clock: systemClock,
    logger: createLogger({ level: 'silent' }),
    prices: createPrices(PRICES),
  });
  const browser = await launchPageBrowser(await chromium.prepare());
  return {
    url: gateway.url,
    browser,
    async forEachPage(visit) {
      const stranger = await openContext(browser);
      for (const page of publicPages) await visit(page, stranger);
      const known = await openContext(browser);
      const page = await known.newPage();
      await signInAs(page, gateway.url, { email: EMAIL, name: 'Rosalind Okafor' });
      await page.close();
      for (const page of emptyPages) await visit(page, known);
      const used = await fill(state, gateway, known);
      await disturb(state);
      const asked = { device: await askForDevice(gateway), agent: await askForAccess(gateway) };
      for (const page of accountPages({ ...used, ...asked })) await visit(page, known);
      const operator = await openContext(browser);
      const signIn = await operator.newPage();
      await signInAs(signIn, gateway.url, { email: OPERATOR, name: 'Tove Lindqvist' });
      await signIn.close();
      for (const page of consolePages({ ...(await awaitOperator(state)), job: used.failedJob }))
        await visit(page, operator);
    },
    async close() {
      await browser.close();
      await state.close();
      await gateway.stop();
      await proxy.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The recorded samples, the pictures that they name, and the subtitles of the video among them. */
function answerOfPlatforms(): AnswerRequest {
  const samples = answersFromSamples(linkSamples);
  return async (request) => {
    if (isPicture(request.url)) {
      return { headers: { 'content-type': 'image/jpeg' }, body: await pictureOf(request.url) };
    }
    const [, language] = /lang=(en|nl)&fmt=vtt/.exec(request.url.search) ?? [];
    if (language !== 'en' && language !== 'nl') return samples(request);
    return { headers: { 'content-type': 'text/vtt' }, body: SUBTITLES[language] };
  };
}

/** No platform is asked: its pictures are invented. */
async function openContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext();
  await context.route(
    ({ hostname }) => !LOCAL.has(hostname),
    async (route) => {
      const request = route.request();
      if (request.resourceType() !== 'image') return route.abort();
      return route.fulfill({ contentType: 'image/jpeg', body: await pictureOf(new URL(request.url())) });
    },
  );
  return context;
}

interface Filled extends Pick<UsedPages, 'orders' | 'image'> {
  /** Id of a job that failed. */
  failedJob: string;
}

/** Keys, orders, requests, images and a failed job of a month. */
async function fill(state: State, gateway: GatewayProcess, context: BrowserContext): Promise<Filled> {
  const [user] = await state.users.list({ limit: 1 });
  const [pepper] = await loadPeppers(readSettings({ DATA_DIR: gateway.dataFolder }));
  if (!user || !pepper) throw new Error('nobody signed in');
  const { orders, key } = await useAccount(state, user, pepper);
  await useFurtherModels(state, user.accountId);
  await keepInputs(state, user.accountId);
  await state.budgets.changeKey({
    id: key.slice(6, 14),
    accountId: user.accountId,
    properties: { own: { grants: ['images', 'extract'], rpm: 12, expiresAt: Date.now() + 60 * 86_400_000 } },
    budgets: [{ unit: 'requests', amount: 1_000, currency: null, resets: 'day' }],
    actor: 'user:screenshots',
  });
  const image = await fillGallery({ state, gateway, key, context });
  const extract = (url: string) =>
    gateway.request('/v1/extract', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url, background: true }),
    });
  await extract(videoSample.url);
  const failing = await extract(linkSamples.find(({ name }) => name === 'private')?.url ?? '');
  await until(async () => (await state.jobs.active('extraction')) === 0, POLL_MS);
  await state.keys.touch(new Map([[key.slice(6, 14), Date.now()]]));
  const codes = Object.fromEntries(orders.map(({ code, state: is }) => [is, code]));
  return { orders: codes, image, failedJob: String(failing.json.data.job.job_id) };
}

const FURTHER = [
  { name: 'laptop', model: 'm-5.4-mini', route: '/v1/chat/completions', inputTokens: 3_900, outputTokens: 640 },
  { name: 'nightly import', model: 'm-5.3-code', route: '/v1/responses', inputTokens: 21_800, outputTokens: 2_050 },
  { name: 'shop website', model: 'm-5.4-mini', route: '/v1/chat/completions', inputTokens: 1_200, outputTokens: 410 },
] as const;

/** Requests of other models, by each of the keys, at times of their own. */
async function useFurtherModels({ keys, admissions }: State, accountId: string): Promise<void> {
  const all = (await keys.listOf(accountId)).filter(({ replacedBy }) => replacedBy === null);
  const now = Date.now();
  const used = new Map<string, number>();
  for (let back = 27; back >= 0; back -= 1) {
    for (const [index, { name, inputTokens, outputTokens, ...about }] of FURTHER.entries()) {
      const keyId = all.find((key) => key.name === name)?.id ?? '';
      for (let count = (back * 5 + index * 3) % (7 - index); count > 0; count -= 1) {
        const at = now - back * 86_400_000 - (count * 7 + index * 11) * 60_000;
        const share = 0.4 + ((back * 7 + count * 13) % 12) / 10;
        const tokens = { inputTokens: Math.round(inputTokens * share), outputTokens: Math.round(outputTokens * share) };
        const totalTokens = tokens.inputTokens + tokens.outputTokens;
        const latencyMs = Math.round(380 + 2_400 * share * (index + 1));
        const isFailed = back < 3 && count === 2;
        admissions.settle({
          ...{ requestId: randomUUID(), keyId, accountId, ...about, latencyMs, at },
          ...(isFailed
            ? { status: 504, errorCode: 'upstream_timeout' }
            : { status: 200, usage: { ...tokens, totalTokens } }),
        });
        used.set(keyId, Math.max(at, used.get(keyId) ?? 0));
      }
    }
  }
  await admissions.flush();
  await keys.touch(used);
}

/** The account keeps what its requests asked, which the latest of them show. */
async function keepInputs({ keys, requestLog }: State, accountId: string): Promise<void> {
  const { inputs } = requestLog;
  await inputs.setDays(accountId, 7);
  const keyIds = (await keys.listOf(accountId)).map(({ id }) => id);
  const rows = await requestLog.list({ keyIds, accountId, from: 0, to: Date.now() }, ASKED.length);
  for (const [index, { keyId, at, requestId }] of rows.entries())
    inputs.keep({ accountId, keyId, at, requestId, text: ASKED[index] ?? '' });
  await inputs.flush();
}

/** Makes the second user the operator, for whom users, money and an incident wait. */
async function awaitOperator(state: State): Promise<Omit<ConsoleSubjects, 'job'>> {
  const [[operator], [user]] = await Promise.all([state.users.findByEmail(OPERATOR), state.users.findByEmail(EMAIL)]);
  if (!operator || !user) throw new Error('nobody signed in');
  const actor = `operator:${operator.id}`;
  await state.users.setRole({ userId: operator.id, role: 'operator', actor });
  for (const name of ['Bartholomew Kapoor', 'Mai Nguyễn', 'Ines Moreau']) {
    const email = `${name.split(' ')[0]?.toLowerCase()}@harbour.example`;
    await state.users.signIn({ issuer: 'https://id.example', subject: email, email, name });
  }
  const [other] = await state.users.findByEmail('ines@harbour.example');
  await state.users.suspend({ userId: other?.id ?? '', actor, note: 'shared the key' });
  await keepTeam(state, { accountId: user.accountId, actor });
  for (const one of [user, operator]) await state.agentSignIn.applications.signedIn('grafana', one.id);
  const booked = { provider: 'bank', currency: 'EUR', at: Date.now() - 3_600_000 };
  await state.orders.record({ ...booked, id: 'B-2041', amount: 1_900, text: 'Token plan, thanks! Bartholomew' });
  const [open] = await state.orders.list({ limit: 1, state: 'pending' });
  if (open) await state.orders.record({ ...booked, id: 'B-2042', amount: open.amount + 500, text: open.code });
  // Keys of one millisecond have no order: the picture shows one that is in use.
  const key = (await state.keys.listOf(user.accountId)).find(({ replacedBy }) => replacedBy === null);
  return { user: user.id, account: user.accountId, order: open?.code ?? '', key: key?.id ?? '' };
}

/** Groups with budgets, a prepaid balance, invitations, and an alert about a budget. */
async function keepTeam(state: State, { accountId, actor }: { accountId: string; actor: string }): Promise<void> {
  const money = { unit: 'money', amount: 500_000_000, currency: 'EUR', resets: 'month' } as const;
  const tokens = { unit: 'tokens', amount: 1_000_000, currency: null, resets: 'day' } as const;
  await state.budgets.createGroup('research', { budgets: [money, tokens], actor });
  await state.budgets.createGroup('night-shift');
  await useGroup(state, { accountId, actor });
  await state.balances.setEligible({ accountId, actor, note: 'pays by invoice' }, true);
  const wanted = { accountId, terms: TOP_UP, amount: 2_000, currency: 'EUR', actor, lifetimeMs: 86_400_000 };
  const { order } = await state.orders.create(wanted);
  await state.orders.confirm({ code: order.code, actor });
  await state.balances.adjust({ accountId, actor, note: 'for the outage of Friday' }, 5_000_000);
  await state.invitations.invite({ role: 'member', name: 'Linh Trần', actor });
  await state.invitations.invite({ role: 'billing', name: 'Anneliese von Hohenlohe-Waldenburg', actor });
  const detail = { of: 'group', name: 'research', unit: 'tokens', limit: 1_000_000, used: 842_000, resets: 'day' };
  await state.alerts.note([{ kind: 'budget_low', subject: 'group research tokens/day', detail }]);
}

/** Two keys of the group research, which use most of what it has for a day. */
async function useGroup(
  { keys, budgets, admissions }: State,
  { accountId, actor }: { accountId: string; actor: string },
): Promise<void> {
  const members = (await keys.listOf(accountId)).filter(
    ({ name, replacedBy }) => name !== 'shop website' && !replacedBy,
  );
  for (const { id } of members) await budgets.changeKey({ id, accountId, groupName: 'research', actor });
  const [first] = members;
  if (!first) throw new Error('the account has no key for the group');
  const own = await budgets.of({ scope: 'group', subject: 'research' });
  const about = { keyId: first.id, accountId, route: '/v1/responses', model: 'm-5.3-code' };
  const usage = { inputTokens: 403_000, outputTokens: 18_000, totalTokens: 421_000 };
  for (const latencyMs of [21_800, 19_400]) {
    const reserve = { budgetId: null, furtherBudgets: own.map(({ id }) => id), tokens: usage.totalTokens };
    const { reservation } = await admissions.admit({ ...about, reserve });
    const at = Date.now() - latencyMs * 60;
    admissions.settle({ requestId: randomUUID(), ...about, status: 200, latencyMs, usage, at, reservation });
  }
  await admissions.flush();
}

/** A day with a disturbance, and incidents. */
async function disturb(state: State): Promise<void> {
  const now = Date.now();
  const parts = ['gateway', 'database', 'jobs', 'files', 'payments', 'sign_in'];
  for (const name of ['vidsite', 'clip_video', 'clip_shop', 'social', 'photo']) parts.push(`platform:${name}`);
  for (let at = now - 23 * 3_600_000; at < now; at += 5 * 60_000) {
    const hours = (now - at) / 3_600_000;
    await state.statusHistory.record(
      parts.map((id) => ({ id, state: id === 'jobs' && hours > 6 && hours < 7.5 ? 'degraded' : 'ok' })),
      at,
    );
  }
  await state.probes.record([{ platform: 'vidsite', at: now - 4 * 3_600_000, passed: 11, failed: 1 }]);
  const actor = 'operator:ann';
  const { incidents } = state;
  const first = {
    title: 'Images are slow',
    kind: 'degraded',
    message: 'Our provider has problems. Jobs take longer.',
  } as const;
  const { id } = await incidents.add({ ...first, startedAt: now - 8 * 3_600_000, actor });
  await incidents.update(id, { state: 'identified', text: 'One of its servers failed. Jobs wait for it.', actor });
  await incidents.close(id, { outcome: 'The provider works again. No job was lost.', actor });
  const next = {
    title: 'Moving to a larger machine',
    kind: 'maintenance',
    message: 'The gateway is away for five minutes.',
  } as const;
  await incidents.add({ ...next, startedAt: now + 40 * 3_600_000, actor });
  const open = {
    title: 'Transcripts take longer',
    kind: 'degraded',
    message: 'Transcripts of more than ten minutes wait longer than usual.',
  } as const;
  const slow = await incidents.add({ ...open, startedAt: now - 50 * 60_000, actor });
  await incidents.update(slow.id, {
    state: 'monitoring',
    text: 'A second server helps. The queue gets shorter.',
    actor,
  });
}

/** An agent that asks for access; where its user is sent to. */
async function askForAccess(gateway: GatewayProcess): Promise<string> {
  const redirectUri = 'http://localhost:3118/callback';
  const { json } = await gateway.request('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], client_name: 'Shipyard agent' }),
  });
  const fields = {
    client_id: json.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  return `/oauth/authorize?${new URLSearchParams(fields)}`;
}

/** A program that asks to be let in; where that is answered. */
async function askForDevice(gateway: GatewayProcess): Promise<string> {
  const { json } = await gateway.request('/api/agent/device', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: 'Shipyard CLI' }),
  });
  const { pathname, search } = new URL(json.verification_uri_complete);
  return pathname + search;
}
