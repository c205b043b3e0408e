/**
 * The tasks of the site by keyboard alone, from the first Tab to the result: links, lists, chats, images, speech, usage,
 * requests, search and language. `npm test` has those of keys, plans and devices.
 */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import offlineSpeech from 'mediagate/plugins/offline_speech';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { createKeyboard, type Keyboard } from '../../support/browser/keyboard.js';
import { launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';
import { richPost } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';

const LINK = 'https://invented.example/item/7';

describe('tasks of the site by keyboard alone', function () {
  this.timeout(120_000);
  let app: SignInApp;
  let browser: Browser;
  let page: Page;
  let keyboard: Keyboard;

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
    page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage();
    await page.route('https://**', (route) => route.abort());
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
    const [user] = await app.state.users.list({ limit: 1 });
    await useAccount(app.state, user!, createPepper(Buffer.alloc(32, 'tasks')));
    keyboard = createKeyboard(page);
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  async function open(path: string): Promise<void> {
    await page.goto('about:blank');
    await page.goto(app.url + path);
  }

  it('read a link', async () => {
    await open('/playground');
    await keyboard.tabTo('Public link');
    await keyboard.type(LINK);
    await keyboard.press('Enter');
    await page.locator('.document:not(.skeleton)').waitFor();
    expect((await keyboard.focused()).isInView).to.equal(true);
  });

  it('read a list of links', async () => {
    await open('/playground');
    await keyboard.tabTo('One link');
    await keyboard.press('ArrowRight');
    await keyboard.tabTo('Links, one on each line');
    await keyboard.type(LINK);
    await keyboard.tabTo('Read all');
    await keyboard.press('Enter');
    await page.locator('#batch-list li').first().waitFor();
  });

  it('change tabs by arrow keys, and chat', async () => {
    await open('/playground');
    await keyboard.tabTo('Links');
    await keyboard.press('ArrowRight');
    await keyboard.tabTo('Message');
    await keyboard.type('Ahoy');
    await keyboard.press('Enter');
    await page.locator('#chat-log .chat-facts').waitFor();
    await page.reload();
    await page.locator('#chat-log').getByText('You said: Ahoy').waitFor();
  });

  it('make an image, open it, and return to it', async () => {
    await open('/images');
    await keyboard.tabTo('Prompt');
    await keyboard.type('A tug');
    await keyboard.tabTo('Create images');
    await keyboard.press('Enter');
    await page.locator('#image-cards img:not(.image-partial)').waitFor();
    await page.locator('a.image-open').first().focus();
    await keyboard.press('Enter');
    await page.locator('.lightbox #image-detail').waitFor();
    await keyboard.press('Escape');
    await page.locator('.lightbox').waitFor({ state: 'detached' });
    expect((await keyboard.focused()).tag).to.equal('a');
  });

  it('speak a text', async () => {
    await open('/playground#audio');
    await keyboard.tabTo('Text');
    await keyboard.type('Ahoy.');
    await keyboard.tabTo('Speak');
    await keyboard.press('Enter');
    await page.locator('#speech-result .sound-player').waitFor();
  });

  it('filter requests, keep what they ask, and turn that off', async () => {
    await open('/requests');
    await keyboard.tabTo(/^Failed/);
    await keyboard.press('Enter');
    await page.waitForURL(/outcome=failed/);
    await keyboard.tabTo('Store from now on');
    await keyboard.press('Enter');
    await page.getByText('Stored for 7 days').waitFor();
    await keyboard.tabTo('Turn off and delete');
    await keyboard.press('Enter');
    await page.getByText('It is off').waitFor();
  });

  it('look at usage by model, search the documentation, and change the language', async () => {
    await open('/usage');
    await keyboard.tabTo('Model');
    await keyboard.press('Enter');
    await page.waitForURL(/by=model/);
    await open('/docs');
    await keyboard.tabTo(/^Search/);
    await keyboard.type('image job');
    await keyboard.press('Enter');
    await page.waitForURL(/\/docs\/search/);
    await open('/status');
    await keyboard.tabTo(/Tiếng Việt/);
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Tình trạng' }).waitFor();
  });
});
