/** The pages of the site, and what is done on each before it is looked at. */

import type { Page } from 'playwright-core';
import { carouselSample, linkSamples, videoSample } from '../../demo/link-samples.js';
import { tryRoute } from './page-browser.js';

/** A page in one state. */
export interface SitePage {
  /** Unique: the name of its pictures. */
  name: string;
  path: string;
  /** Brings the page into the state; it may be done again after a reload. Default: it is there at once. */
  prepare?(page: Page): Promise<unknown>;
}

/** What the account of {@link accountPages} has. */
export interface UsedPages {
  /** Codes by state: `paid`, `underpaid`, `pending`. */
  orders: Readonly<Record<string, string>>;
  /** Id of an image job. */
  image: string;
  /** Path where a program asks for access. */
  device: string;
  /** Path where an agent asks for access. */
  agent: string;
}

const SENTENCE = 'Two tugs leave the quay at dawn.';
const TABLE = `Which harbours are the deepest?

| Harbour | Country | Depth |
|---|---|---:|
| Rotterdam | Netherlands | 24 m |
| Đà Nẵng | Việt Nam | 17 m |

\`\`\`python
print("ahoy")
\`\`\``;

/** Pages that everybody sees. */
export const publicPages: readonly SitePage[] = [
  { name: 'home', path: '/' },
  { name: 'login', path: '/login' },
  { name: 'status-new', path: '/status' },
  { name: 'models', path: '/models' },
  { name: 'models-none', path: '/models?q=m-54' },
  { name: 'plans', path: '/plans' },
  { name: 'plans-chosen', path: '/plans?plan=token_100m' },
  { name: 'setup', path: '/setup' },
  { name: 'connect', path: '/connect' },
  { name: 'docs', path: '/docs' },
  { name: 'docs-images', path: '/docs/api/images' },
  { name: 'docs-errors', path: '/docs/api/errors' },
  { name: 'docs-guide', path: '/docs/guides/images' },
  { name: 'docs-search', path: '/docs/search?q=image+job' },
  { name: 'not-found', path: '/nowhere' },
];

/** Pages of an account that has done nothing yet. */
export const emptyPages: readonly SitePage[] = [
  { name: 'dashboard-empty', path: '/dashboard' },
  { name: 'keys-empty', path: '/keys' },
  { name: 'usage-empty', path: '/usage' },
  { name: 'requests-empty', path: '/requests' },
  { name: 'orders-empty', path: '/orders' },
  { name: 'images-empty', path: '/images' },
  { name: 'playground-first', path: '/playground' },
  {
    name: 'playground-several',
    path: '/playground',
    prepare: (page) => page.locator('[name="links-part"]').last().check(),
  },
];

/** Pages of an account that has been used for a month. */
export function accountPages({ orders, image, device, agent }: UsedPages): readonly SitePage[] {
  return [
    { name: 'dashboard', path: '/dashboard' },
    { name: 'keys', path: '/keys' },
    { name: 'keys-form', path: '/keys', prepare: openKeyForm },
    { name: 'usage', path: '/usage' },
    { name: 'usage-models', path: '/usage?by=model' },
    { name: 'requests', path: '/requests' },
    { name: 'requests-failed', path: '/requests?outcome=failed' },
    {
      name: 'request',
      path: '/requests',
      prepare: (page) => page.locator('.row-link', { hasText: '/v1/responses' }).first().click(),
    },
    { name: 'requests-none', path: '/requests?code=invalid_json' },
    { name: 'plans-signed-in', path: '/plans' },
    ...Object.entries(orders).map(([state, code]) => ({ name: `order-${state}`, path: `/pay/${code}` })),
    { name: 'order-receipt', path: `/pay/${orders.paid}/receipt` },
    { name: 'order-list', path: '/orders' },
    { name: 'images', path: '/images' },
    { name: 'image', path: `/images/${image}` },
    { name: 'image-edit', path: `/images/${image}#edit` },
    { name: 'image-lightbox', path: '/images', prepare: openLightbox },
    { name: 'image-gone', path: '/images/imgjob_0000000000000000' },
    { name: 'playground-links', path: '/playground' },
    { name: 'playground-video', path: '/playground', prepare: read(videoSample.url) },
    { name: 'playground-transcript', path: '/playground', prepare: readAloud },
    { name: 'playground-carousel', path: '/playground', prepare: read(carouselSample.url) },
    { name: 'playground-product', path: '/playground', prepare: read(sampleUrl('model-2026')) },
    { name: 'playground-refused', path: '/playground', prepare: refuse },
    { name: 'playground-offline', path: '/playground', prepare: loseConnection },
    { name: 'playground-waiting', path: '/playground', prepare: waitForLink },
    { name: 'playground-batch', path: '/playground', prepare: readList },
    { name: 'playground-chat', path: '/playground#chat' },
    { name: 'playground-table', path: '/playground#chat', prepare: chat },
    { name: 'playground-chat-waiting', path: '/playground#chat', prepare: waitForAnswer },
    { name: 'playground-chat-offline', path: '/playground#chat', prepare: loseAnswer },
    { name: 'playground-audio', path: '/playground#audio' },
    { name: 'playground-speech', path: '/playground#audio', prepare: speak },
    { name: 'playground-audio-offline', path: '/playground#audio', prepare: loseSpeech },
    { name: 'image-offline', path: '/images', prepare: loseImage },
    { name: 'image-waiting', path: '/images', prepare: waitForImage },
    { name: 'status', path: '/status' },
    { name: 'device', path: '/device' },
    { name: 'device-answer', path: device },
    { name: 'agent-answer', path: agent },
    { name: 'docs-tried', path: '/docs/api/images', prepare: tryRoute },
  ];
}

/** What the pages of operators show. */
export interface ConsoleSubjects {
  /** Id of a user. */
  user: string;
  /** Id of the account of this user. */
  account: string;
  /** Code of an order that waits for a review. */
  order: string;
  /** Id of a key. */
  key: string;
  /** Id of a job that failed. */
  job: string;
}

/** Pages of operators. */
export function consolePages({ user, account, order, key, job }: ConsoleSubjects): readonly SitePage[] {
  return [
    { name: 'console', path: '/admin' },
    { name: 'console-users', path: '/admin/users' },
    { name: 'console-users-none', path: '/admin/users?q=zeppelin' },
    { name: 'console-user', path: `/admin/users/${user}` },
    { name: 'console-user-action', path: `/admin/users/${user}`, prepare: openAction },
    { name: 'console-orders', path: '/admin/orders' },
    { name: 'console-orders-none', path: '/admin/orders?state=refunded' },
    { name: 'console-order', path: `/admin/orders/${order}` },
    { name: 'console-order-action', path: `/admin/orders/${order}`, prepare: openAction },
    { name: 'console-transfers', path: '/admin/transfers' },
    { name: 'console-transfers-action', path: '/admin/transfers', prepare: openAction },
    { name: 'console-balances', path: '/admin/balances' },
    { name: 'console-balance', path: `/admin/balances/${account}` },
    { name: 'console-keys', path: '/admin/keys' },
    { name: 'console-keys-form', path: '/admin/keys', prepare: openAction },
    { name: 'console-key', path: `/admin/keys/${key}` },
    { name: 'console-groups', path: '/admin/groups' },
    { name: 'console-groups-form', path: '/admin/groups', prepare: openAction },
    { name: 'console-groups-none', path: '/admin/groups?q=zeppelin' },
    { name: 'console-invitations', path: '/admin/invitations' },
    { name: 'console-applications', path: '/admin/applications' },
    { name: 'console-models', path: '/admin/models' },
    { name: 'console-model', path: '/admin/models/m-5.5' },
    { name: 'console-model-action', path: '/admin/models/m-5.5', prepare: openAction },
    { name: 'console-requests', path: '/admin/requests' },
    { name: 'console-requests-failed', path: '/admin/requests?outcome=failed' },
    { name: 'console-jobs', path: '/admin/jobs' },
    { name: 'console-jobs-failed', path: '/admin/jobs?state=failed' },
    { name: 'console-jobs-none', path: '/admin/jobs?kind=transcript&state=failed' },
    { name: 'console-job', path: `/admin/jobs/${job}` },
    { name: 'console-alerts', path: '/admin/alerts' },
    { name: 'console-incidents', path: '/admin/incidents' },
    { name: 'console-incidents-form', path: '/admin/incidents', prepare: openAction },
    { name: 'console-audit', path: '/admin/audit' },
  ];
}

function sampleUrl(wanted: string): string {
  return linkSamples.find(({ name }) => name === wanted)?.url ?? '';
}

function openFirst(selector: string): (page: Page) => Promise<unknown> {
  return (page) => page.locator(`main ${selector}:not(.fold)`).first().locator('> summary').click();
}

async function openKeyForm(page: Page): Promise<void> {
  await openFirst('.key-creation')(page);
  await openFirst('.key-creation details')(page);
}

/** The first dialog of a page of the console. */
function openAction(page: Page): Promise<unknown> {
  return page.locator('main .action > button').first().click();
}

async function openLightbox(page: Page): Promise<void> {
  await page.locator('a.image-open').first().click();
  await page.locator('.lightbox #image-detail').waitFor();
  // A picture of the page begins at its top, where the dialog is then.
  await page.evaluate(() => scrollTo(0, 0));
}

async function send(page: Page, url: string): Promise<void> {
  await page.locator('#link-url').fill(url);
  await page.locator('#link-form button:not([type])').click();
}

function read(url: string): (page: Page) => Promise<unknown> {
  return async (page) => {
    await send(page, url);
    await page.locator('.document:not(.skeleton)').waitFor();
    const hasPoster = () => {
      const poster = document.querySelector<HTMLVideoElement>('.document video')?.poster ?? '';
      return poster === '' || performance.getEntriesByName(poster).length > 0;
    };
    await page.waitForFunction(hasPoster, undefined, { timeout: 5_000 }).catch(() => undefined);
  };
}

async function readAloud(page: Page): Promise<void> {
  await read(videoSample.url)(page);
  await page.locator('.timeline .button').click();
  await page.locator('#transcript-search, .timeline .problem:not(:empty), .timeline .notice').first().waitFor();
}

async function refuse(page: Page): Promise<void> {
  await send(page, sampleUrl('private'));
  await page.locator('#link-form [data-code]').waitFor();
}

async function loseConnection(page: Page): Promise<void> {
  await page.route('**/v1/extract', (route) => route.abort());
  await send(page, videoSample.url);
  await page.locator('#link-form .problem:not(:empty)').waitFor();
  await page.unroute('**/v1/extract');
}

/** Sends a request that is not answered while the page is looked at: the next page ends it. */
async function holding(page: Page, pattern: string | RegExp, send: () => Promise<unknown>): Promise<void> {
  await page.unroute(pattern);
  await page.route(pattern, () => undefined);
  await send();
}

/** Sends a request whose connection breaks. */
async function breaking(page: Page, pattern: string, send: () => Promise<unknown>): Promise<void> {
  await page.unroute(pattern);
  await page.route(pattern, (route) => route.abort());
  await send();
  await page.locator('main .problem:not(:empty):visible, .chat-unsent:visible').first().waitFor();
}

async function waitForLink(page: Page): Promise<void> {
  await holding(page, '**/v1/extract', () => send(page, videoSample.url));
  await page.locator('.document.skeleton').waitFor();
}

/** An account has one conversation, which earlier pages of it have filled. */
async function startChat(page: Page): Promise<void> {
  await page.locator('#chat-form button:not([type]):enabled').waitFor();
  await page.locator('#chat-clear').click();
  const sure = page.locator('dialog button[value="yes"]');
  await sure.or(page.locator('#chat-empty:visible')).first().waitFor();
  if (await sure.isVisible()) await sure.click();
  await page.locator('#chat-empty').waitFor();
}

async function ask(page: Page): Promise<void> {
  await startChat(page);
  await page.locator('#chat-text').fill(SENTENCE);
  await page.locator('#chat-form button:not([type])').click();
}

async function waitForAnswer(page: Page): Promise<void> {
  await holding(page, '**/v1/chat/completions', () => ask(page));
  await page.locator('#chat-stop').waitFor();
}

function loseAnswer(page: Page): Promise<void> {
  return breaking(page, '**/v1/chat/completions', () => ask(page));
}

async function loseSpeech(page: Page): Promise<void> {
  await breaking(page, '**/v1/audio/speech', async () => {
    await page.locator('#speech-text').fill(SENTENCE);
    await page.locator('#speech-form button:not([type])').click();
  });
}

/** Each visit of the page that waits makes an image, which the next one shows. */
const DRAWN = ['A ferry on the river in autumn', 'A castle on a green hill', 'A market street at dusk'];

async function draw(page: Page, prompt = 'A tug in the harbour at dawn'): Promise<void> {
  await page.locator('#image-prompt').fill(prompt);
  await page.locator('#image-form button:not([type])').click();
}

/** The job is accepted, and what it does is not known yet. */
async function waitForImage(page: Page): Promise<void> {
  await holding(page, /\/v1\/images\/jobs\/./, () => draw(page, DRAWN.shift()));
  await page.locator('#image-cards [data-open]').first().waitFor();
}

function loseImage(page: Page): Promise<void> {
  return breaking(page, '**/v1/images/**', () => draw(page));
}

/** A list of which one link fails. A later visit finds it, and shows its results. */
async function readList(page: Page): Promise<void> {
  await page.locator('[name="links-part"]').last().check();
  await page.locator('#batch-list > li:visible, #batch-none:visible:not(:empty)').first().waitFor();
  if ((await page.locator('#batch-list > li').count()) === 0) {
    const links = [...linkSamples.slice(0, 4), ...linkSamples.slice(-1)].map(({ url }) => url);
    await page.locator('#batch-links').fill([...links, 'no link'].join('\n'));
    await page.locator('#batch-form button:not([type])').click();
  }
  const entry = page.locator('#batch-list > li').first();
  await entry.locator('.menu').waitFor();
  await entry.locator('button').first().click();
  await page.locator('#batch-list .batch-rows > li').nth(4).waitFor();
}

async function chat(page: Page): Promise<void> {
  await startChat(page);
  await page.locator('#chat-text').fill(TABLE);
  await page.locator('#chat-form button:not([type])').click();
  await page.locator('#chat-log .chat-facts').waitFor();
}

async function speak(page: Page): Promise<void> {
  await page.locator('#speech-text').fill(SENTENCE);
  await page.locator('#speech-form button:not([type])').click();
  await page.locator('#speech-result .sound-player input:enabled').waitFor();
}
