/** What each page weighs at a first visit: itself and the files that it names, as they are sent, without pictures. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import offlineSpeech from 'mediagate/plugins/offline_speech';
import sketchImage from 'mediagate/plugins/sketch_image';
import { createPepper } from '../../../server/keys/index.js';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const MAX_BYTES = 80_000;
/** With the script that shows Markdown. */
const MAX_PLAYGROUND_BYTES = 110_000;
/** Of an answer, as browsers count them. */
const HEADER_BYTES = 500;
const PUBLIC = ['/', '/login', '/models', '/status', '/plans', '/setup', '/nowhere', '/docs', '/docs/api/images'];
const OWN = ['/dashboard', '/keys', '/usage', '/requests', '/orders', '/images', '/plans', '/setup', '/device'];

describe('weights of pages', () => {
  let app: SignInApp;
  let ann: BrowserSession;
  let orders: readonly string[];

  before(async () => {
    app = await startSignInApp({
      catalogue: PRICED_PLANS,
      paymentReceiver: EURO_RECEIVER,
      plugins: [
        { use: invented() },
        { use: sketchImage },
        { use: offlineSpeech },
        { use: echoText, options: { model: 'm-5.5' } },
      ],
    });
    ann = await app.signedIn();
    const [user] = await app.state.users.findByEmail('ann@example.com');
    const used = await useAccount(app.state, user!, createPepper(Buffer.alloc(32, 'weights')));
    orders = used.orders.map(({ code }) => code);
  });
  after(() => app?.close());

  /** As a browser gets it that accepts all encodings. */
  async function fetchPart(path: string, browser = createBrowserSession()): Promise<{ bytes: number; text: string }> {
    const { headers, text } = await browser.send(app.url + path, { headers: { 'accept-encoding': 'br' } });
    return { bytes: Number(headers.get('content-length')) + HEADER_BYTES, text };
  }

  /** A file with the scripts that it imports, also later if `all`. */
  async function weighFile(path: string, all: boolean, seen: Set<string>): Promise<number> {
    if (seen.has(path)) return 0;
    seen.add(path);
    const part = await fetchPart(path);
    const imports = path.endsWith('.js')
      ? part.text.matchAll(all ? /"(\.\/[\w-]+\.js)"/g : /(?:from|import)"(\.\/[\w-]+\.js)"/g)
      : [];
    let sum = part.bytes;
    for (const [, name = ''] of imports) sum += await weighFile(new URL(name, app.url + path).pathname, all, seen);
    return sum;
  }

  async function weigh(path: string, language: string, browser: BrowserSession, all = false): Promise<number> {
    await browser.send(`${app.url}/language`, { form: { language } });
    const page = await fetchPart(path, browser);
    expect(page.text).to.contain(`<html lang="${language}"`);
    const named = page.text.matchAll(/<(?:script[^>]* src|link rel="(?:stylesheet|preload)" href)="([^"]+)"/g);
    const seen = new Set<string>();
    let sum = page.bytes;
    for (const [, file = ''] of named) sum += await weighFile(file, all, seen);
    return sum;
  }

  for (const language of ['en', 'vi']) {
    it(`are at most 80 kB, in ${language}`, async () => {
      const stranger = createBrowserSession();
      const weights: [string, number][] = [];
      for (const path of PUBLIC) weights.push([path, await weigh(path, language, stranger)]);
      const own = [...OWN, `/pay/${orders.at(-1)}`, `/pay/${orders[0]}/receipt`];
      for (const path of own) weights.push([path, await weigh(path, language, ann)]);
      expect(weights.filter(([, bytes]) => !(bytes > 20_000 && bytes <= MAX_BYTES))).to.deep.equal([]);
    });

    it(`are at most 110 kB for the playground with everything that it loads later, in ${language}`, async () => {
      expect(await weigh('/playground', language, ann, true)).to.be.within(60_000, MAX_PLAYGROUND_BYTES);
    });
  }
});
