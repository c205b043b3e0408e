/**
 * Texts of strangers on every page that shows any, in a real browser: titles, captions, chapters, reviews, prompts, answers
 * and reasons of models, names of keys, users and models, searches. Each stays text: no script runs, nothing of it
 * becomes an element, and no page becomes wider or reads backwards by it.
 */

import { expect } from 'chai';
import { definePlugin, type Extraction, GatewayError } from 'mediagate';
import echoText from 'mediagate/plugins/echo_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { newKey, TOKENS } from '../../support/accounts/people.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';
import { imageModel } from '../../support/images/invented-image.js';
import { richPost, richProduct } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';
import { inventedShop, productLink } from '../../support/links/invented-shop.js';
import { settlement } from '../../support/models/model-requests.js';

/** Turns what follows it around, where nothing ends it. */
const OVERRIDE = '\u202e';
const MARKUP =
  '"\'><img src=x onerror=alert(1)><svg onload=alert(1)></svg><script>alert(1)</script><style>*{display:none}</style>';
const HOSTILE = `${MARKUP}</title></textarea>[x](javascript:alert(1)) ![y](https://evil.example/y.png) <a href="javascript:alert(1)" style="position:fixed;inset:0">x</a> ${'w'.repeat(300)} ${OVERRIDE}🚢`;
/** Where names are short. */
const NAME = `"><img src=x onerror=alert(1)><svg/onload=alert(1)> ${'w'.repeat(40)}`;
const WIDTHS = [1_280, 390] as const;

/** The texts of people in a document; addresses, times, ids and kinds are checked by its schema. */
const TEXTS: ReadonlySet<string> = new Set([
  'title',
  'name',
  'description',
  'caption',
  'text',
  'author',
  'value',
  'quality',
]);

function withHostileTexts(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return TEXTS.has(key) ? HOSTILE : value;
  if (Array.isArray(value)) return value.map((one) => withHostileTexts(one, key === 'tags' ? 'text' : key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withHostileTexts(one, name)]));
}

function hostilePost(id: string): Extraction {
  const post = withHostileTexts(richPost(id)) as Extraction;
  const chapters = [0, 60].map((start_seconds) => ({ title: HOSTILE, start_seconds }));
  const { data } = post;
  if (!('common' in data)) throw new Error('a post has no common part');
  return { ...post, data: { ...data, common: { ...data.common, caption: HOSTILE, location: HOSTILE, chapters } } };
}

const darkroom = definePlugin({
  name: 'darkroom',
  apiVersion: 1,
  summary: 'A model whose reasons are hostile.',
  provides: ['image'],
  setup: () => ({
    imageProviders: [
      {
        models: [imageModel('rude-image')],
        generate: () => Promise.reject(new GatewayError('moderation_blocked', HOSTILE)),
      },
    ],
  }),
});

describe('texts of strangers on pages of the site', function () {
  this.timeout(120_000);
  let app: SignInApp;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let paid: string;
  const complaints: string[] = [];
  const policies = new Map<string, string>();

  before(async function () {
    const executable = await chromiumFor(this);
    const extract = async ({ link: { id } }: { link: { id: string } }) => {
      if (id === '404') throw new GatewayError('removed', HOSTILE);
      return hostilePost(id);
    };
    app = await startSignInApp({
      catalogue: PRICED_PLANS,
      paymentReceiver: EURO_RECEIVER,
      plugins: [
        { use: invented({ extract }) },
        { use: inventedShop({ extract: async ({ link }) => withHostileTexts(richProduct(link.id)) as Extraction }) },
        { use: sketchImage },
        { use: darkroom },
        { use: echoText, options: { model: 'm-5.5' } },
        { use: echoText, id: 'hostile', options: { model: NAME } },
      ],
    });
    browser = await launchPageBrowser(executable);
    context = await browser.newContext();
    await context.route('https://**', (route) => route.abort());
    page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on('dialog', (dialog) => {
      complaints.push(`a script ran: ${page.url()}`);
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      const text = message.text();
      // Pictures of platforms are not loaded here, and refusals are what is tested.
      if (!text.startsWith('Failed to load resource')) complaints.push(text);
    });
    page.on('response', (response) => {
      const { origin, pathname } = new URL(response.url());
      if (response.request().resourceType() !== 'document' || origin !== app.url || response.status() === 303) return;
      policies.set(pathname, response.headers()['content-security-policy'] ?? '');
    });
    page.on('request', (request) => {
      const { hostname, pathname } = new URL(request.url());
      if (hostname === 'evil.example' || pathname.endsWith('/x')) complaints.push(`loads ${request.url()}`);
    });
    await signInAs(page, app.url, { email: 'ann@example.com', name: NAME });
    paid = await fillAccount();
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  async function fillAccount(): Promise<string> {
    const { state } = app;
    const [user] = await state.users.findByEmail('ann@example.com');
    const { accountId } = user!;
    const { orders } = await useAccount(state, user!, createPepper(Buffer.alloc(32, 'hostile')));
    const key = { ...newKey(), name: HOSTILE.slice(0, 100) };
    await state.keys.issue({ accountId, key, otherwise: TOKENS, maxKeys: 10 });
    const at = Date.now() - 60_000;
    const asked = {
      keyId: key.id,
      accountId,
      at,
      model: HOSTILE,
      errorCode: 'upstream_timeout',
      requestId: 'req_hostile',
    };
    state.admissions.settle(settlement(asked));
    await state.admissions.flush();
    const texts = {
      title: HOSTILE.slice(0, 200),
      message: HOSTILE,
      kind: 'outage',
      startedAt: at,
      actor: 'test',
    } as const;
    await state.incidents.add(texts);
    return orders[0]?.code ?? '';
  }

  const open = (path: string) => page.goto(app.url + path);

  /** At both widths: nothing of a text is an element, stands out of the window, or turns its neighbours around. */
  async function expectText(where: string): Promise<void> {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 844 });
      expect(await page.evaluate(takenOver, OVERRIDE), `${where} at ${width}`).to.deep.equal([]);
    }
    expect(complaints.splice(0), where).to.deep.equal([]);
  }

  it('stay texts of links, on the card and in reasons', async () => {
    for (const link of ['https://invented.example/item/7', productLink(5)]) {
      await open('/playground');
      await page.locator('#link-url').fill(link);
      await page.keyboard.press('Enter');
      await page.locator('.document:not(.skeleton)').waitFor();
      await page.evaluate(() => {
        for (const part of document.querySelectorAll('details')) part.open = true;
      });
      expect(await page.locator('.document:not(.skeleton)').textContent()).to.contain('onerror=alert(1)');
      await expectText(link);
    }
    await page.locator('#link-url').fill('https://invented.example/item/404');
    await page.keyboard.press('Enter');
    await page.locator('#link-form [data-code="removed"]').waitFor();
    await expectText('a refused link');
  });

  it('stay texts of lists of links', async () => {
    await open('/playground');
    await page.getByRole('radio', { name: 'Several links' }).check();
    await page.locator('#batch-links').fill('https://invented.example/item/8\nhttps://invented.example/item/404');
    await page.locator('#batch-form button:not([type])').click();
    await page.getByText(/^Completed/).waitFor();
    await page.getByRole('button', { name: 'Show results' }).click();
    await page.locator('#batch-list .batch-results').getByText('onerror').first().waitFor();
    await expectText('a list of links');
  });

  it('stay texts of chats, while an answer grows and after it', async () => {
    await open('/playground#chat');
    for (const text of [
      HOSTILE,
      `# ${HOSTILE}\n\n| ${HOSTILE} |\n|---|\n| ${HOSTILE} |\n\n- ${HOSTILE}\n\n\`\`\`html\n${HOSTILE}\n\`\`\``,
    ]) {
      const answers = await page.locator('#chat-log .chat-facts').count();
      await page.locator('#chat-text').fill(text);
      await page.keyboard.press('Enter');
      await page.locator('#chat-log .chat-facts').nth(answers).waitFor();
      await expectText('a chat');
    }
    await page.locator('#chat-code').click();
    await page.getByRole('dialog').waitFor();
    await expectText('the code of a chat');
  });

  it('stay prompts and reasons of images', async () => {
    for (const model of ['gen-img-2', 'rude-image']) {
      await open(`/images?model=${model}`);
      await page.locator('#image-prompt').fill(HOSTILE);
      await page.locator('#image-form button:not([type])').click();
      await page.locator('#image-cards > li:not([data-open])').first().waitFor();
      await expectText(`images of ${model}`);
      const id = await page.locator('#image-cards > li').first().getAttribute('id');
      for (const path of [`/images/${id}`, `/images?again=${id}`]) {
        await open(path);
        await expectText(path);
      }
    }
    await open('/images');
    await page.locator('a.image-open').first().click();
    await page.locator('.lightbox .image-words').waitFor();
    await expectText('the lightbox');
  });

  it('stay names of keys, users, models and incidents, and what is searched for', async () => {
    const text = encodeURIComponent(HOSTILE);
    for (const path of [
      '/dashboard',
      '/keys',
      '/requests',
      `/requests?code=${text}&request_id=${text}&model=${text}`,
      '/usage?by=model',
      '/usage?by=key',
      `/usage?model=${text}`,
      '/orders',
      `/pay/${paid}`,
      `/pay/${paid}/receipt`,
      '/models',
      `/models?q=${text.slice(0, 300)}`,
      '/status',
      `/plans?plan=${text}`,
      '/setup',
      `/docs/search?q=${text}`,
      `/login?return_to=${text}`,
      `/device?user_code=${text}`,
      `/nowhere/${text}`,
    ]) {
      await open(path);
      await expectText(path);
    }
  });

  it('meet a policy without inline scripts and styles on every page', () => {
    expect(policies.size).to.be.greaterThan(15);
    for (const [path, policy] of policies) {
      expect(policy, path).to.contain("default-src 'none'").and.not.contain('unsafe');
    }
  });
});

/** Runs in the page: what a text has become besides a text. */
function takenOver(override: string): string[] {
  const found: string[] = [];
  const note = (what: string, one: Element) => found.push(`${what}: ${one.outerHTML.slice(0, 160)}`);
  for (const one of document.querySelectorAll('*')) {
    if (one.matches('script:not([src]), img[src="x"], svg[onload], [style*="position"], iframe, object, embed, base'))
      note('element', one);
    if ([...one.attributes].some(({ name }) => name.startsWith('on'))) note('handler', one);
    const href = one.getAttribute('href') ?? '';
    if (/^\s*(javascript|data|vbscript):/i.test(href)) note('address', one);
  }
  if (getComputedStyle(document.body).display === 'none') found.push('a style sheet of a text');
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) {
    const wide = [...document.querySelectorAll('main *')].filter(
      (one) =>
        one.getBoundingClientRect().right > clientWidth + 1 && !one.closest('pre, .table, .visually-hidden, .tab-list'),
    );
    found.push(
      `wider than the window: ${scrollWidth} of ${clientWidth}`,
      ...wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 160)),
    );
  }
  return [...found, ...turnedAround()];

  /** Texts that stand behind an override without an element between them that ends it. */
  function turnedAround(): string[] {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const turned: string[] = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.textContent ?? '';
      if (
        !text.includes(override) ||
        node.parentElement?.closest('textarea, option, title, .visually-hidden, template')
      )
        continue;
      let block = node.parentElement;
      while (
        block &&
        getComputedStyle(block).display === 'inline' &&
        !/isolate|plaintext/.test(getComputedStyle(block).unicodeBidi)
      ) {
        block = block.parentElement;
      }
      if (!block || /isolate|plaintext/.test(getComputedStyle(block).unicodeBidi)) continue;
      const rest = document.createRange();
      rest.setStartAfter(node);
      rest.setEndAfter(block.lastChild ?? block);
      if (rest.toString().trim() !== '')
        turned.push(`turned around: ${rest.toString().trim().slice(0, 80)} in ${block.outerHTML.slice(0, 160)}`);
    }
    return turned;
  }
}
