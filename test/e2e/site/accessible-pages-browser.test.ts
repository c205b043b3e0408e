/**
 * Accessibility of every page of the site in a real browser. Pages of the documentation that are made from one template are
 * large, and what the rules say of them is the same: one of each template is held to all rules here, the others in test/long.
 * `npm test` holds one state of each kind of page to the rules in one medium, every second one wide and light; a long run
 * more of them, in both. All states in both languages are in test/long.
 */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import offlineSpeech from 'mediagate/plugins/offline_speech';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import {
  findings,
  launchPageBrowser,
  type Medium,
  showIn,
  signInAs,
  tryRoute,
  WIDE_AND_NARROW,
} from '../../support/browser/page-browser.js';
import { richPost } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';
import { variants } from '../../support/runner/variants.js';

/** A desktop window at 400 %, and the narrowest phone. */
const NARROWEST = { width: 320, colorScheme: 'light' } as const;

/** More space between lines, words and letters, as WCAG 1.4.12 has it. */
const SPACING =
  '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }';

/** What moves sideways within itself, such as rows of links on a phone, and what is hidden. */
const MOVED = 'pre, .tab-list, .sideways, .table, .visually-hidden, .skip, svg';

const LONG = 'Donaudampfschiffahrtsgesellschaftskapitaensmuetzenabzeichenverwahrungsanstaltsverzeichnis0123456789';
const RIGHT_TO_LEFT = 'מפתח של הנמל 🚢';

/** A page, and what is done there before it is looked at. After each step it is looked at in all ways. */
interface Look {
  path: string;
  by?: 'stranger';
  /** The part that the rules look at; nothing where another page of its template is held to them. Default: the whole page. */
  rules?: '.try' | 'none';
  steps?: readonly ((page: Page) => Promise<unknown>)[];
  /** Of a template that is looked at in another state too: only in a long run. Default false. */
  isVariant?: boolean;
}

describe('accessible pages of the site', () => {
  let app: SignInApp;
  let browser: Browser;
  let known: BrowserContext;
  let looks: readonly Look[];

  before(async function () {
    const executable = await chromiumFor(this);
    app = await startSignInApp({
      catalogue: PRICED_PLANS,
      paymentReceiver: EURO_RECEIVER,
      plugins: [
        { use: invented({ extract: async ({ link: { id } }: { link: { id: string } }) => richPost(id) }) },
        { use: sketchImage },
        { use: offlineSpeech },
        { use: echoText, options: { model: 'm-5.5' } },
      ],
    });
    browser = await launchPageBrowser(executable);
    known = await browser.newContext();
    const page = await known.newPage();
    await signInAs(page, app.url, {
      email: 'ann@example.com',
      name: `${LONG.slice(0, 90)} ${RIGHT_TO_LEFT}`.slice(0, 100),
    });
    const user = (await app.state.users.list({ limit: 1 }))[0]!;
    const { orders } = await useAccount(app.state, user, createPepper(Buffer.alloc(32, 'everybody')));
    for (const name of [LONG.slice(0, 100), RIGHT_TO_LEFT]) {
      await page.getByLabel('Name of the new key').fill(name);
      await page.getByRole('button', { name: 'Create a key' }).click();
      await page.getByText('Your new key').waitFor();
      await page.goto(`${app.url}/dashboard`);
    }
    await page.close();
    looks = looksAt(orders.map(({ code }) => code));
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  function looksAt(orders: readonly string[]): Look[] {
    return [
      ...['/', '/login', '/models', '/status', '/plans?plan=token_100m', '/nowhere'].map((path) => ({
        path,
        by: 'stranger' as const,
      })),
      ...['/models?q=none', '/plans', '/setup'].map((path) => ({ path, by: 'stranger' as const, isVariant: true })),
      { path: '/docs', isVariant: true },
      { path: '/docs/search?q=image', by: 'stranger', isVariant: true },
      { path: '/docs/api/errors', isVariant: true },
      { path: '/docs/quickstart', by: 'stranger' },
      { path: '/docs/operate/keys-and-budgets', isVariant: true },
      { path: '/docs/reference/settings', rules: 'none', isVariant: true },
      { path: '/docs/api/links', rules: 'none', isVariant: true },
      { path: '/docs/api/images', rules: 'none' },
      { path: '/docs/api/images', rules: '.try', steps: [tryRoute] },
      { path: '/docs/api/audio', by: 'stranger', steps: [tryRoute], isVariant: true },
      ...['/setup', '/device?user_code=BCDF-GHJK'].map((path) => ({ path })),
      ...['/', '/plans', '/plans?plan=token_100m', '/device', '/pay/MG00000000'].map((path) => ({
        path,
        isVariant: true,
      })),
      ...orders.map((code, index) => ({ path: `/pay/${code}`, isVariant: index !== 1 })),
      ...orders.map((code, index) => ({ path: `/pay/${code}/receipt`, isVariant: index > 0 })),
      { path: '/orders' },
      { path: '/dashboard', steps: [openTable] },
      { path: '/dashboard', steps: [refuse], isVariant: true },
      { path: '/keys', steps: [openForms, refuseLimit] },
      { path: '/keys', steps: [ask], isVariant: true },
      { path: '/dashboard', steps: [makeKey], isVariant: true },
      { path: '/usage', steps: [stay, openCalendar] },
      { path: '/usage?by=day', isVariant: true },
      { path: '/requests' },
      { path: '/requests?code=none', isVariant: true },
      { path: '/playground#links', steps: [readLink] },
      { path: '/images', steps: [makeImage] },
      { path: '/playground#chat', steps: [chat, showCode] },
      { path: '/playground#audio' },
    ];
  }

  /** After each step on a page, in every medium. The page is loaded once: no script of it reads the width. */
  async function forEach(
    { path, by, steps = [stay] }: Look,
    media: readonly Medium[],
    hold: (page: Page, where: string, medium: Medium) => Promise<void>,
  ): Promise<void> {
    const context = by ? await browser.newContext() : known;
    const page = await context.newPage();
    // The platforms' own pictures stay where they are.
    await page.route('https://**', (route) => route.abort());
    await page.goto(app.url + path);
    // No page waits for scripts that have come.
    await page.waitForFunction(() => {
      const hint = document.querySelector('.scripts-missing');
      return hint === null || getComputedStyle(hint).display === 'none';
    });
    for (const step of steps) {
      await step(page);
      for (const medium of media) {
        await showIn(page, medium);
        await hold(page, `${path} ${step.name}, ${JSON.stringify(medium)}`, medium);
      }
    }
    await page.close();
    if (by) await context.close();
  }

  it('break no rule of WCAG 2.2 A or AA and no best practice of axe-core, and fit into 320 pixels, also with more space', async function () {
    this.timeout(300_000);
    for (const [index, look] of variants(looks, ({ isVariant }) => !isVariant).entries()) {
      const { rules } = look;
      const held = variants(WIDE_AND_NARROW, (medium) => medium === WIDE_AND_NARROW[index % WIDE_AND_NARROW.length]);
      const media = rules === 'none' ? [NARROWEST] : [NARROWEST, ...held];
      await forEach(look, media, async (page, where, { width }) => {
        if (width === NARROWEST.width) {
          expect(await outside(page), where).to.deep.equal([]);
          expect(await outsideIfSpaced(page), `${where}, spaced`).to.deep.equal([]);
          return;
        }
        expect(await findings(page, rules), where).to.deep.equal([]);
      });
    }
  });

  it('mark the selected tab in forced colours', async () => {
    const look = { path: '/playground' };
    const media = [{ width: 1_280, colorScheme: 'dark', forcedColors: 'active' }] as const;
    await forEach(look, media, async (page) => {
      const colours = await page
        .getByRole('tab')
        .evaluateAll((tabs) => tabs.map((tab) => getComputedStyle(tab).borderBottomColor));
      expect(colours[0]).not.to.equal(colours[1]);
    });
  });

  it('print without controls, and with the amount to pay', async () => {
    const page = await known.newPage();
    await page.goto(app.url + looks.filter(({ path }) => path.startsWith('/pay/MG')).at(-1)!.path);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    for (const words of ['Payment reference', 'Harbour Bank', 'To pay']) await page.getByText(words).first().waitFor();
    expect(await page.getByRole('img', { name: 'QR code' }).isVisible()).to.equal(true);
    expect(await page.getByRole('button').count()).to.equal(0);
    // Paper does not count down.
    expect(await page.getByRole('timer').count()).to.equal(0);
    expect(await page.getByRole('navigation').count()).to.equal(0);
    expect(await page.evaluate(() => getComputedStyle(document.body.parentElement!).backgroundColor)).to.equal(
      'rgb(250, 249, 246)',
    );
    await page.close();
  });
});

/** What stands out of the window at the right, where it does not scroll within itself. */
function outside(page: Page): Promise<string[]> {
  return page.evaluate(
    (moved) =>
      [...document.querySelectorAll('body *')]
        .filter((one) => !one.closest(moved))
        .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
        .map((one) => one.outerHTML.slice(0, 120)),
    MOVED,
  );
}

async function stay(): Promise<void> {}

/** The calendar of the first field of a day. */
async function openCalendar(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Choose a day: To' }).click();
  await page.getByRole('grid').waitFor();
}

async function outsideIfSpaced(page: Page): Promise<string[]> {
  await page.evaluate((css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [sheet];
  }, SPACING);
  const found = await outside(page);
  await page.evaluate(() => {
    document.adoptedStyleSheets = [];
  });
  return found;
}

function openTable(page: Page): Promise<void> {
  return page.getByText('As a table').click();
}

async function openForms(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const fold of document.querySelectorAll('details')) fold.open = true;
  });
}

/** The error stands in the part of its field. */
async function refuseLimit(page: Page): Promise<void> {
  const form = page.locator('form[data-limits]').first();
  await form.getByLabel('Name of the new key').fill('tram');
  for (const box of await form.locator('input[name="grants"]').all()) await box.uncheck();
  await form.getByRole('button', { name: 'Create a key' }).click();
  await form.locator('fieldset .problem').getByText('Tick at least one.').waitFor();
}

async function ask(page: Page): Promise<void> {
  await page.locator('.key-card', { hasText: 'Donau' }).locator('.menu > summary').first().click();
  await page
    .getByRole('button', { name: /^Revoke Donau/ })
    .first()
    .click();
  await page.getByRole('dialog').waitFor();
}

async function refuse(page: Page): Promise<void> {
  await page.getByLabel('Name of the new key').fill('a\u200bb');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('alert').getByText('name must be').waitFor();
}

/** An answer of the gateway's own, so that no window of keys runs out. */
async function makeKey(page: Page): Promise<void> {
  const apiKey = `sk-mg-00000000-${'0'.repeat(38)}`;
  await page.route('**/api/user/keys', (route) => route.fulfill({ status: 201, json: { apiKey } }));
  await page.getByLabel('Name of the new key').fill('tram');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByText('Your new key').waitFor();
}

async function readLink(page: Page): Promise<void> {
  await page.getByLabel('Public link').fill('https://invented.example/item/7');
  await page.keyboard.press('Enter');
  await page.locator('.document:not(.skeleton)').waitFor();
}

async function makeImage(page: Page): Promise<void> {
  await page.getByLabel('Prompt').fill(LONG);
  await page.getByRole('button', { name: 'Create images' }).click();
  await page.locator('#image-cards img').waitFor();
}

async function chat(page: Page): Promise<void> {
  await page.getByLabel('Message').fill(LONG);
  await page.keyboard.press('Enter');
  await page.locator('#chat-log').getByText('You said').waitFor();
  await page.locator('#chat-log .chat-facts').waitFor();
}

async function showCode(page: Page): Promise<void> {
  await page.locator('#chat-code').click();
  await page.getByRole('dialog').waitFor();
}
