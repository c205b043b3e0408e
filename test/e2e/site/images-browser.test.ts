/** The pages of images in a real browser: create, follow, open, edit a part, use again, delete. */

import { expect } from 'chai';
import { definePlugin, GatewayError } from 'mediagate';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { AWKWARD_TEXTS } from '../../support/browser/awkward-texts.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser, showIn, signInAs, WIDE_AND_NARROW } from '../../support/browser/page-browser.js';
import { imageModel } from '../../support/images/invented-image.js';
import { isLongRun, longIt, variants } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';

/** Right-to-left override, markup, a script address, emoji, and a word that is as long as a line. */
const HOSTILE = `\u202e"><img src=x onerror=alert(1)><script>alert(1)</script> javascript:alert(1) 🚢🏳️‍🌈 ${'w'.repeat(300)}`;

const darkroom = definePlugin({
  name: 'darkroom',
  apiVersion: 1,
  summary: 'Models that make no image.',
  provides: ['image'],
  setup: () => ({
    imageProviders: [
      { models: [imageModel('slow-image')], generate: ({ signal }) => untilAborted(signal) },
      {
        models: [imageModel('prim-image')],
        generate: () => Promise.reject(new GatewayError('moderation_blocked', 'The words were not to its liking.')),
      },
    ],
  }),
});

const IMAGE_PRICES = [{ size: '1024x1024', price: 0.04 }, { price: 0.065 }];

describe('the pages of images in a real browser', function () {
  this.timeout(40_000);
  let app: SignInApp;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  before(async function () {
    this.timeout(60_000);
    const executable = await chromiumFor(this);
    app = await startSignInApp({
      plugins: [{ use: sketchImage }, { use: darkroom }],
      prices: createPrices({ currency: 'USD', models: { 'gen-img-2': { images: IMAGE_PRICES } } }),
    });
    browser = await launchPageBrowser(executable);
    page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(10_000);
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('dialog', () => complaints.push('a script ran'));
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
    const [user] = await app.state.users.list({ limit: 1 });
    await useAccount(app.state, user!, createPepper(Buffer.alloc(32, 'images')));
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  const cards = () => page.locator('#image-cards > li');
  const open = (path = '/images') => page.goto(app.url + path);

  async function create(prompt: string, model = 'gen-img-2'): Promise<void> {
    await page.getByLabel('Prompt').fill(prompt);
    await page.getByLabel('Model').selectOption(model);
    await page.getByRole('button', { name: 'Create images' }).click();
  }

  async function expectGood(what: string): Promise<void> {
    for (const medium of variants(WIDE_AND_NARROW, ({ width }) => width === 390)) {
      await showIn(page, medium);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(tooWide, `${what} at ${medium.width} scrolls sideways`).to.be.at.most(0);
      // Every run holds these pages to the rules with accessible-pages-browser.test.ts, in fewer states.
      if (isLongRun) expect(await findings(page), `${what} at ${medium.width}`).to.deep.equal([]);
    }
    await page.setViewportSize({ width: 1_280, height: 844 });
  }

  it('say what is missing, and offer each model by one name', async () => {
    await open();
    await page.getByText('No images yet').waitFor();
    expect(await page.getByLabel('Model').locator('option').allTextContents()).to.have.members([
      'gen-img-2 (mock)',
      'slow-image',
      'prim-image',
    ]);
    await expectGood('empty');
  });

  it('say what the chosen images cost, and at most where that is not known', async () => {
    await open();
    const cost = page.locator('#image-form .run-cost');
    await page.getByLabel('Model').selectOption('gen-img-2');
    expect(await cost.textContent()).to.equal('$0.04 for an image');
    await page.getByLabel('Size').selectOption('1536x1024');
    await page.getByLabel('Number of images').selectOption('6');
    expect(await cost.textContent()).to.equal('$0.39 for 6 images');
    await page.getByLabel('Size').selectOption('auto');
    expect(await cost.textContent()).to.equal('up to $0.39 for 6 images');
    await page.getByLabel('Model').selectOption('slow-image');
    expect(await cost.textContent()).to.equal('');
    await open();
  });

  it('show an image while it is made, and after a reload with its prompt and cost', async () => {
    await create('A tug in the harbour at dawn');
    await cards().first().waitFor();
    await page.locator('#image-cards img:not(.image-partial)').waitFor();
    await open();
    expect(await cards().count()).to.equal(1);
    const text = (await cards().first().textContent()) ?? '';
    expect(text).to.contain('A tug in the harbour at dawn').and.contain('1024 × 1024').and.contain('$0.04');
    await page.getByText('No images yet').waitFor({ state: 'hidden' });
  });

  it('follow a running job after a reload, and show it as cancelled', async () => {
    await create('Never ready', 'slow-image');
    await page.getByText('Generating').first().waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Cancel Never ready' }).click();
    await page.getByText('You stopped it before it was ready.').waitFor();
    expect(await cards().first().locator('progress').count()).to.equal(0);
  });

  it('give the reason of a failure in words', async () => {
    await create('Something rude', 'prim-image');
    await page.getByText('The words were not to its liking.').waitFor();
    await expectGood('with failures');
  });

  it('show hostile prompts as text', async () => {
    await create(HOSTILE);
    await until(async () => (await cards().first().locator('img:not(.image-partial)').count()) === 1, 200);
    expect(await cards().first().locator('script, img[src=x]').count()).to.equal(0);
    await expectGood('hostile prompts');
    await cards().first().locator('a.image-open').click();
    await page.locator('.lightbox .image-words').waitFor();
    await expectGood('hostile lightbox');
    await page.keyboard.press('Escape');
    const id = await cards().first().getAttribute('id');
    await open(`/images/${id}`);
    expect(await page.locator('.image-words').textContent()).to.equal(HOSTILE);
    await expectGood('hostile image');
    await open(`/images?again=${id}`);
    expect(await page.getByLabel('Prompt').inputValue()).to.equal(HOSTILE);
  });

  it('open pictures over the page by keyboard, and return the focus', async () => {
    await open();
    const links = page.locator('a.image-open');
    await links.first().focus();
    await page.keyboard.press('Enter');
    await page.locator('.lightbox #image-detail').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.locator('.lightbox').getByText('A tug in the harbour at dawn').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.lightbox').waitFor({ state: 'detached' });
    expect(await links.last().evaluate((link) => link === document.activeElement)).to.equal(true);
  });

  it('use an image as an input', async () => {
    await page.keyboard.press('Enter');
    await page.locator('.lightbox').getByRole('link', { name: 'Use as input' }).click();
    await page.locator('#image-form .drop-files img').waitFor();
    await create('The same in winter');
    await until(async () => (await cards().first().textContent())?.includes('The same in winter') === true, 200);
    await until(async () => (await cards().first().locator('img:not(.image-partial)').count()) === 1, 200);
    await cards().first().locator('a.image-open').click();
    await page.locator('.lightbox').getByText('Input images').waitFor();
    await page.locator('.lightbox').getByRole('link', { name: 'Again' }).click();
    await page.getByText('That image had 1 input image').waitFor();
  });

  it('change a painted part alone, also by keyboard', async () => {
    await open();
    await page.locator('a.image-open').last().click();
    await page.locator('.lightbox').getByRole('link', { name: 'Edit' }).click();
    await page.locator('#edit-canvas').waitFor();
    const box = (await page.locator('#edit-canvas').boundingBox())!;
    await page.mouse.move(box.x + 40, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 120, box.y + 90);
    await page.mouse.up();
    await page.getByText('Painted parts: 1.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Painted parts: 0.').waitFor();
    await page.getByText('Add a rectangle by numbers').click();
    await page.getByLabel('Left').fill('90');
    await page.keyboard.press('Enter');
    await page.getByText('Give numbers from 0 to 100').waitFor();
    expect(await page.getByLabel('Width').evaluate((field) => field === document.activeElement)).to.equal(true);
    await page.getByLabel('Left').fill('25');
    await page.keyboard.press('Enter');
    await page.getByText('Painted parts: 1.').waitFor();
    await expectGood('editor');
    await page.getByLabel('What to put there').fill('A red lighthouse');
    await page.getByRole('button', { name: 'Create edit' }).click();
    await page.waitForURL(/\/images#/);
    await until(async () => (await cards().first().locator('img:not(.image-partial)').count()) === 1, 200);
    const [edited, original] = await Promise.all([cards().first(), cards().last()].map(pixelsOf));
    // A corner stays, the middle changes.
    expect(edited!.corner).to.deep.equal(original!.corner);
    expect(edited!.middle).not.to.deep.equal(original!.middle);
  });

  it('make several images at once, each with a job of its own', async () => {
    await open();
    const count = await cards().count();
    await page.getByLabel('Number of images').selectOption('2');
    await create('Two tugs');
    await until(async () => (await cards().count()) === count + 2, 200);
    await until(async () => (await page.locator('#image-cards [data-open]').count()) === 0, 200);
    const sources = await page
      .locator('#image-cards img')
      .evaluateAll((all) => all.slice(0, 2).map((one) => (one as HTMLImageElement).src));
    expect(new Set(sources)).to.have.length(2);
  });

  it('delete an image with its file, after a question', async () => {
    await open();
    const count = await cards().count();
    const first = cards().first();
    const src = (await first.getByRole('link', { name: 'Download' }).getAttribute('href'))!;
    const menu = first.locator('.menu > summary');
    await menu.press('Enter');
    await page.keyboard.press('Escape');
    expect(await first.getByRole('button', { name: 'Delete' }).isVisible()).to.equal(false);
    await menu.click();
    await first.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
    expect(await cards().count()).to.equal(count);
    await menu.click();
    await first.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await until(async () => (await cards().count()) === count - 1, 100);
    expect(
      await cards()
        .first()
        .evaluate((card) => card === document.activeElement),
    ).to.equal(true);
    expect((await fetch(app.url + src)).status).to.be.oneOf([404, 410]);
    await page.reload();
    expect(await cards().count()).to.equal(count - 1);
  });

  longIt('hold their layout with a long prompt of every script', async () => {
    await open();
    const prompt = `${AWKWARD_TEXTS.rightToLeft} ${AWKWARD_TEXTS.unbroken}`;
    await create(prompt);
    await until(async () => (await cards().first().locator('img:not(.image-partial)').count()) === 1, 200);
    const words = cards().first().locator('.image-prompt');
    expect(await words.evaluate((text) => getComputedStyle(text).direction)).to.equal('rtl');
    const path = (await cards().first().locator('a.image-open').getAttribute('href'))!;
    for (const shown of ['/images', path]) {
      await open(shown);
      await page.locator('.image-prompt, #image-detail').first().waitFor();
      for (const width of [1_280, 390]) {
        await page.setViewportSize({ width, height: 844 });
        const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(tooWide, `${shown} at ${width} scrolls sideways`).to.be.at.most(0);
      }
    }
    await page.setViewportSize({ width: 1_280, height: 844 });
  });

  it('lead from an accepted job in the API reference to the operation that reads it', async () => {
    await open('/docs/api/images');
    const operation = page.locator('#postV1ImagesJobs');
    await operation.getByText('Try it').click();
    await operation.getByRole('button', { name: 'Send' }).click();
    await operation.getByRole('link', { name: 'Next: Get an image job' }).click();
    const next = page.locator('#getV1ImagesJobsId');
    expect(await next.getByLabel('id', { exact: true }).inputValue()).to.match(/^imgjob_\w+$/);
    await next.getByRole('button', { name: 'Send' }).click();
    await next.getByText('"status":').first().waitFor();
  });

  it('complain about nothing in the console', () => {
    expect(complaints).to.deep.equal([]);
  });

  /** Of the whole file: the list has a smaller picture. */
  async function pixelsOf(card: ReturnType<typeof cards>): Promise<{ corner: number[]; middle: number[] }> {
    return card.getByRole('link', { name: 'Download' }).evaluate(async (link: HTMLAnchorElement) => {
      const image = new Image();
      image.src = link.href;
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = image.naturalWidth;
      canvas.height = image.naturalHeight;
      const context = canvas.getContext('2d', { willReadFrequently: true })!;
      context.drawImage(image, 0, 0);
      const read = (x: number, y: number) => [...context.getImageData(x, y, 40, 40).data];
      return { corner: read(10, 10), middle: read(canvas.width / 2, canvas.height / 2) };
    });
  }
});
