/** A person who reads Vietnamese walks through the site in a real browser, from the first page to a document. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { DEFAULT_CATALOGUE } from '../../../server/plans/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser } from '../../support/browser/page-browser.js';
import { richPost } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';
import { isLongRun } from '../../support/runner/variants.js';

const TIMEOUT_MS = 20_000;
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1_280, height: 900 };

describe('a visitor who reads Vietnamese', () => {
  let app: SignInApp;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;

  before(async function () {
    const executable = await chromiumFor(this);
    app = await startSignInApp({
      catalogue: { ...PRICED_PLANS, support: DEFAULT_CATALOGUE.support },
      paymentReceiver: EURO_RECEIVER,
      // The operator may use everything.
      withoutUsers: true,
      plugins: [
        { use: invented({ extract: async ({ link: { id } }: { link: { id: string } }) => richPost(id) }) },
        { use: sketchImage },
        { use: echoText, options: { model: 'm-5.5' } },
      ],
    });
    browser = await launchPageBrowser(executable);
    context = await browser.newContext({ locale: 'vi-VN' });
    context.setDefaultTimeout(TIMEOUT_MS);
    page = await context.newPage();
    // The platforms' own pictures stay where they are.
    await page.route('https://**', (route) => route.abort());
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  /** The page is Vietnamese and fits into a phone; in a long run it breaks no rule of accessibility, as public pages do in every run. */
  async function hold(): Promise<void> {
    const where = page.url();
    expect(await page.getAttribute('html', 'lang'), where).to.equal('vi');
    expect(await page.evaluate(englishTexts), where).to.deep.equal([]);
    for (const size of [PHONE, DESKTOP]) {
      await page.setViewportSize(size);
      expect(await page.evaluate(cutTexts), `${where} at ${size.width}`).to.deep.equal([]);
    }
    if (isLongRun) expect(await findings(page), where).to.deep.equal([]);
  }

  it('finds the plans, signs in and comes back', async () => {
    await page.goto(app.url);
    await hold();
    await page.getByRole('link', { name: 'Gói', exact: true }).click();
    await hold();
    await page.getByRole('link', { name: 'Chọn 30M tokens' }).click();
    await hold();
    await page.getByRole('link', { name: 'Đăng nhập để đặt mua' }).click();
    await hold();
    await page.getByRole('link', { name: 'Tiếp tục với nhà cung cấp thử nghiệm' }).click();
    await page.getByLabel('Email').fill('mai@example.com');
    await page.getByLabel('Name').fill('Trần Thị Mai');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${app.url}/plans?plan=token_30m`);
    await hold();
  });

  it('orders a plan, and cancels the order', async () => {
    await page.getByRole('button', { name: 'Đặt mua và thanh toán' }).click();
    await page.getByText('Đang chờ chuyển khoản').waitFor();
    await page.getByText('19,00 €', { exact: true }).waitFor();
    await hold();
    await page.getByRole('button', { name: 'Hủy đơn hàng này' }).click();
    await page.getByRole('dialog').getByText('đừng hủy').waitFor();
    await hold();
    await page.getByRole('button', { name: 'Hủy đơn hàng', exact: true }).click();
    await page.getByText('Đơn hàng đã hủy').waitFor();
    await hold();
  });

  it('creates a key, reads why a name is refused, and revokes the key', async () => {
    await page.goto(`${app.url}/dashboard`);
    await hold();
    await page.getByLabel('Tên khóa mới').fill('a\u200bb');
    await page.getByRole('button', { name: 'Tạo khóa' }).click();
    await page.getByRole('alert').getByText('Một trường có giá trị không được chấp nhận.').waitFor();
    await page.getByLabel('Tên khóa mới').fill('máy tính');
    await page.getByRole('button', { name: 'Tạo khóa' }).click();
    await page.getByText('Khóa mới của bạn').waitFor();
    await hold();
    await page.goto(`${app.url}/keys`);
    await page.locator('.key-card', { hasText: 'máy tính' }).locator('.menu > summary').first().click();
    await page.getByRole('button', { name: 'Thu hồi máy tính' }).click();
    await page.getByRole('dialog').getByText('Không thể hoàn tác').waitFor();
    await hold();
    await page.getByRole('dialog').getByRole('button', { name: 'Thu hồi' }).click();
    await page.getByText('Đã thu hồi “máy tính”').waitFor();
    await hold();
  });

  it('reads a link in the playground and creates an image', async () => {
    await page.goto(`${app.url}/playground`);
    await hold();
    await page.locator('#link-url').fill('https://invented.example/item/7');
    await page.keyboard.press('Enter');
    await page.locator('.document:not(.skeleton)').waitFor();
    expect(await page.locator('#link-result').evaluate(englishTexts)).to.deep.equal([]);
    await page.locator('#link-url').fill('https://nowhere.example/');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Liên kết không thuộc nền tảng nào được hỗ trợ.').waitFor();
    await page.goto(`${app.url}/images`);
    await page.locator('#image-prompt').fill('Tàu kéo trong cảng');
    await page.locator('#image-form button:not([type])').click();
    await page.locator('#image-cards img').waitFor();
    await page.getByRole('link', { name: 'Tải xuống' }).first().waitFor();
    expect(await page.locator('#image-cards').evaluate(englishTexts)).to.deep.equal([]);
  });

  it('sees usage and requests, and switches to English', async () => {
    for (const path of ['/usage', '/requests', '/setup', '/models', '/device', '/nowhere']) {
      await page.goto(app.url + path);
      await hold();
    }
    await page.goto(`${app.url}/usage?by=model`);
    await page.getByRole('button', { name: 'English' }).click();
    await page.waitForURL(`${app.url}/usage?by=model`);
    expect(await page.getAttribute('html', 'lang')).to.equal('en');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    await page.getByRole('button', { name: 'Tiếng Việt' }).click();
    await page.getByRole('heading', { name: 'Mức dùng' }).waitFor();
  });
});

/** Runs in the page: texts with words that only English has, besides code, names and parts with another language. */
function englishTexts(root: Element | unknown): string[] {
  const words =
    /\b(the|your|you|of|and|is|are|with|not|key|keys|plan|plans|link|image|images|this|no|in|sign|requests?)\b/i;
  const walker = document.createTreeWalker(root instanceof Element ? root : document.body, NodeFilter.SHOW_TEXT);
  const found: string[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = (node.textContent ?? '').replaceAll(/`[^`]*`|\S+[._/-]\S+/g, '').trim();
    const isApart = node.parentElement?.closest(
      'script, code, pre, bdi, body [lang="en"], .mono, .document-words, .badge',
    );
    if (!isApart && words.test(text)) found.push(text);
  }
  return found;
}

/** Runs in the page: buttons, tabs and headings whose text is wider than they are, and a page wider than the window. */
function cutTexts(): string[] {
  const { scrollWidth, clientWidth } = document.documentElement;
  const wide = scrollWidth > clientWidth ? [`the page: ${scrollWidth}`] : [];
  const cut = [...document.querySelectorAll<HTMLElement>('button, a.button, h1, h2, h3, th, dt, label, summary')]
    .filter(
      (one) => one.offsetWidth > 0 && !one.closest('.visually-hidden, .table, details:not([open]) > :not(summary)'),
    )
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline');
  const broken = [...document.querySelectorAll<HTMLElement>('.button-small, .tab, .badge, .site-header a')].filter(
    (one) => one.offsetHeight > 2.2 * Number.parseFloat(getComputedStyle(one).lineHeight) + 16,
  );
  return [...wide, ...[...cut, ...broken].map((one) => one.outerHTML.slice(0, 120))];
}
