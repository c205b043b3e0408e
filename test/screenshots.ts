/** Takes screenshots of every page of the site, in every language, width and colour scheme. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger, systemClock } from 'mediagate';
import type { Page } from 'playwright-core';
import { findChromium } from '../server/settings/executables.js';
import { loadPeppers } from '../server/settings/secrets.js';
import { readSettings } from '../server/settings/settings.js';
import { openState, type State } from '../server/state.js';
import { PRICED_PLANS } from './support/accounts/priced-plans.js';
import { useAccount } from './support/accounts/used-account.js';
import { launchPageBrowser, signInAs } from './support/browser/page-browser.js';
import { packageRoot } from './support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from './support/processes/gateway-process.js';
import { readFlags } from './support/processes/program-flags.js';
import { until } from './support/until.js';

const LANGUAGES = ['en', 'vi'] as const;
const WIDTHS = [1_280, 390] as const;
const SCHEMES = ['light', 'dark'] as const;
const EMAIL = 'rosalind@harbour.example';
const POLL_MS = 200;

const PAYMENT = {
  PAYMENT_BANK_NAME: 'Harbour Bank',
  PAYMENT_ACCOUNT: 'DE89370400440532013000',
  PAYMENT_ACCOUNT_NAME: 'Mediagate Ltd',
  PAYMENT_FORMAT: 'epc',
};

const PLANS = {
  publicPriceTablesVisible: PRICED_PLANS.publicPriceTablesVisible,
  support: { text: PRICED_PLANS.support.text, email: PRICED_PLANS.support.email },
  plans: PRICED_PLANS.prices.map(({ planId, amount, currency }) => ({ id: planId, price: { amount, currency } })),
};

const { words, only } = readFlags({
  command: 'npm run screenshots --',
  flags: { only: { text: 'first letters of the names of pages' } },
  words: { name: 'FOLDER', most: 1 },
});

interface Shot {
  name: string;
  path: string;
}

/** Takes every page of a gateway that is in use, in two languages, at two widths, light and dark. */
async function takeScreenshots(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const chromium = await findChromium({ searchPath: process.env.PATH }, path.join(packageRoot, 'dist', 'test-browser'));
  if (!chromium) throw new Error('There is no Chromium on this machine. BROWSER_PATH names one.');
  const plansFile = path.join(folder, 'plans.json');
  await writeFile(plansFile, JSON.stringify(PLANS));
  const gateway = await startGatewayProcess({ environment: { ...PAYMENT, PLANS_FILE: plansFile } });
  const logger = createLogger({ level: 'silent' });
  const state = await openState({ dataDir: gateway.dataFolder, clock: systemClock, logger });
  const browser = await launchPageBrowser(await chromium.prepare());
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    await signInAs(page, gateway.url, { email: EMAIL, name: 'Rosalind Okafor' });
    await take(page, gateway, folder, [
      { name: 'dashboard-empty', path: '/dashboard' },
      { name: 'keys-empty', path: '/keys' },
      { name: 'usage-empty', path: '/usage' },
    ]);
    const orders = await fill(state, gateway);
    await disturb(state);
    await take(page, gateway, folder, [
      { name: 'dashboard', path: '/dashboard' },
      { name: 'keys', path: '/keys' },
      { name: 'usage', path: '/usage' },
      { name: 'usage-models', path: '/usage?by=model' },
      { name: 'requests', path: '/requests' },
      { name: 'requests-failed', path: '/requests?outcome=failed' },
      { name: 'requests-none', path: '/requests?code=invalid_json' },
      { name: 'plans-signed-in', path: '/plans' },
      ...orders,
      { name: 'images', path: '/images' },
      { name: 'playground-links', path: '/playground' },
      { name: 'playground-images', path: '/playground#images' },
      { name: 'playground-models', path: '/playground#models' },
      { name: 'device', path: '/device' },
      { name: 'device-answer', path: await askForDevice(gateway) },
    ]);
    const stranger = await (await browser.newContext()).newPage();
    await take(stranger, gateway, folder, [
      { name: 'home', path: '/' },
      { name: 'login', path: '/login' },
      { name: 'status', path: '/status' },
      { name: 'models', path: '/models' },
      { name: 'models-none', path: '/models?q=zeppelin' },
      { name: 'plans', path: '/plans' },
      { name: 'plans-chosen', path: '/plans?plan=token_100m' },
      { name: 'setup', path: '/setup' },
      { name: 'docs', path: '/docs' },
      { name: 'docs-images', path: '/docs/api/images' },
      { name: 'docs-errors', path: '/docs/api/errors' },
      { name: 'docs-guide', path: '/docs/guides/images' },
      { name: 'docs-search', path: '/docs/search?q=image+job' },
      { name: 'not-found', path: '/nowhere' },
    ]);
  } finally {
    await browser.close();
    await state.close();
    await gateway.stop();
    await rm(plansFile);
  }
}

async function fill(state: State, gateway: GatewayProcess): Promise<Shot[]> {
  const [user] = await state.users.list({ limit: 1 });
  const [pepper] = await loadPeppers(readSettings({ DATA_DIR: gateway.dataFolder }));
  if (!user || !pepper) throw new Error('nobody signed in');
  const { orders, key } = await useAccount(state, user, pepper);
  await state.budgets.changeKey({
    id: key.slice(6, 14),
    accountId: user.accountId,
    properties: { own: { grants: ['images', 'extract'], rpm: 12, expiresAt: Date.now() + 60 * 86_400_000 } },
    budgets: [{ unit: 'requests', amount: 1_000, currency: null, resets: 'day' }],
    actor: 'user:screenshots',
  });
  const send = (size: string) =>
    gateway.request('/v1/images/jobs', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gen-img-2', prompt: 'A tug in the harbour at dawn', size }),
    });
  // The gateway learns of the key within seconds.
  await until(async () => (await send('1024x1024')).status === 202, POLL_MS);
  await send('1024x1536');
  await until(async () => (await state.jobs.active('image')) === 0, POLL_MS);
  const paid = orders.filter(({ state: is }) => is === 'paid');
  return [
    ...orders.map(({ code, state: is }) => ({ name: `order-${is}`, path: `/pay/${code}` })),
    ...paid.map(({ code }) => ({ name: 'order-receipt', path: `/pay/${code}/receipt` })),
    { name: 'order-list', path: '/orders' },
  ];
}

/** A day with a disturbance, and incidents. */
async function disturb(state: State): Promise<void> {
  const now = Date.now();
  const parts = ['gateway', 'database', 'jobs', 'files', 'payments', 'sign_in', 'model:echo_text', 'model:images'];
  for (let at = now - 23 * 3_600_000; at < now; at += 5 * 60_000) {
    const hours = (now - at) / 3_600_000;
    const stateOf = (id: string) => (id !== 'model:echo_text' || hours < 6 || hours > 8 ? 'ok' : 'down');
    await state.statusHistory.record(
      parts.map((id) => ({ id, state: id === 'jobs' && hours > 6 && hours < 7.5 ? 'degraded' : stateOf(id) })),
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
  await incidents.close(id, { outcome: 'The provider works again. No job was lost.', actor });
  const next = {
    title: 'Moving to a larger machine',
    kind: 'maintenance',
    message: 'The gateway is away for five minutes.',
  } as const;
  await incidents.add({ ...next, startedAt: now + 40 * 3_600_000, actor });
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

async function take(page: Page, gateway: GatewayProcess, folder: string, shots: readonly Shot[]): Promise<void> {
  for (const { name, path: target } of shots) {
    if (only !== undefined && !name.startsWith(only)) continue;
    for (const language of LANGUAGES) {
      await page.context().addCookies([{ name: 'language', value: language, url: gateway.url }]);
      for (const width of WIDTHS) {
        for (const colorScheme of SCHEMES) {
          await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
          await page.emulateMedia({ colorScheme });
          // A new part of the same address alone would keep the page, with its language.
          await page.goto('about:blank');
          // Never idle: the page of an open order waits for the money.
          await page.goto(gateway.url + target, { waitUntil: 'load' });
          await page.evaluate(() => document.fonts.ready.then(() => undefined));
          const file = `${name}-${language}-${width}-${colorScheme}.png`;
          await page.screenshot({ path: path.join(folder, file), fullPage: true });
        }
      }
    }
  }
}

const folder = words[0] ?? (await mkdtemp(path.join(tmpdir(), 'mediagate-screenshots-')));
await takeScreenshots(folder);
console.log(`Screenshots are in ${folder}`);
