/** The page of models and platforms, without scripts. */

import { expect } from 'chai';
import { load } from 'cheerio';
import { definePlugin, type TextProvider } from 'mediagate';
import echoText from 'mediagate/plugins/echo_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Catalogue } from '../../../server/plans/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const HOSTILE = `"><script>alert(1)</script>\u202e`;
const DESCRIPTION = 'Reads long texts. <script>alert(2)</script>';
const PRICES = createPrices({
  currency: 'USD',
  models: {
    'big-1': { input: 0.15, output: 12.5 },
    'gen-img-2': { images: [{ price: 0.01 }, { size: '2048x2048', price: 0.04 }] },
  },
  links: [{ price: 0.002 }],
});

/** A connected provider: unlike the mocks, its models have limits. */
const connected = definePlugin({
  name: 'connected',
  apiVersion: 1,
  summary: 'An invented provider.',
  provides: ['text'],
  setup: () => ({
    textProviders: [
      {
        models: [
          {
            id: 'big-1',
            routes: ['chat_completions'],
            efforts: ['low'],
            contextLength: 131_072,
            maxOutputTokens: 8_192,
          },
          { id: 'vectors', routes: ['embeddings'], efforts: [] },
        ],
        send: () => Promise.reject(new Error('nobody asks it')),
        upstreams: () => [{ name: 'secret-upstream', isCoolingDown: false, tries: 0, failures: 0 }],
      } satisfies TextProvider,
    ],
  }),
});

async function start(catalogue: Partial<Catalogue> = {}): Promise<SignInApp> {
  return startSignInApp({
    catalogue: { ...PRICED_PLANS, ...catalogue },
    prices: PRICES,
    plugins: [
      { use: invented() },
      { use: sketchImage },
      { use: echoText, options: { model: HOSTILE } },
      { use: connected, descriptions: { 'big-1': DESCRIPTION } },
      ...Array.from({ length: 60 }, (_, index) => ({
        use: echoText,
        id: `echo${index}`,
        options: { model: `m${index}` },
      })),
    ],
  });
}

describe('page of models', () => {
  let app: SignInApp;

  before(async () => {
    app = await start();
  });
  after(() => app?.close());

  const read = async (query = '', from = app) => {
    const { status, text } = await createBrowserSession().send(`${from.url}/models${query}`);
    return { status, text, page: load(text) };
  };
  const namesIn = (page: ReturnType<typeof load>) =>
    page('.models .model-name bdi')
      .toArray()
      .map((one) => page(one).text());
  const cardOf = (page: ReturnType<typeof load>, name: string) =>
    page('.model-kind')
      .filter((_, one) => page(one).find('.model-name bdi').text() === name)
      .text();

  it('has every model once, with routes, limits, mocks, and a link to the playground with it', async () => {
    const { page } = await read('?q=big');
    expect(namesIn(page)).to.deep.equal(['big-1']);
    expect(cardOf(page, 'big-1'))
      .to.contain('/v1/chat/completions')
      .and.to.contain('131,072 tokens')
      .and.to.contain('8,192 tokens')
      .and.not.to.contain('Mock');
    expect(cardOf(page, 'big-1')).to.contain(DESCRIPTION);
    expect(page.html()).not.to.contain('<script>alert');
    expect(namesIn((await read('?q=long+texts')).page)).to.deep.equal(['big-1']);
    expect(page('.models a.model-try').attr('href')).to.equal('/playground?model=big-1');
    const { page: others } = await read('?q=vectors');
    expect(others('.models a.model-try')).to.have.length(0);
    const { page: images } = await read('?kind=image');
    expect(images('.model-kind').text()).to.contain('Mock').and.to.contain('up to 4 input images');
    expect(images('main').text()).to.contain('answer with samples');
  });

  it('sends a stranger who tries a model to sign in, and back to it', async () => {
    const { location } = await createBrowserSession().send(`${app.url}/playground?model=big-1`);
    expect(location).to.equal(`${app.url}/login?return_to=%2Fplayground%3Fmodel%3Dbig-1`);
  });

  it('searches names, routes and tasks, by kind, in pages that miss none', async () => {
    expect(namesIn((await read('?q=EMBEDDINGS')).page)).to.deep.equal(['vectors']);
    expect(namesIn((await read('?q=search+&kind=text')).page)).to.deep.equal(['vectors']);
    const names: string[] = [];
    for (let next: string | undefined = '?kind=text'; next !== undefined; ) {
      const { page, text } = await read(next);
      expect(Buffer.byteLength(text)).to.be.below(40_000);
      names.push(...namesIn(page));
      next = page('a[rel="next"]').attr('href')?.replace('/models', '');
    }
    expect([names.length, new Set(names).size]).to.deep.equal([63, 63]);
    const { page } = await read('?q=zeppelin');
    expect(page('.empty').text()).to.contain('Nothing found');
    expect(page('.empty a').attr('href')).to.equal('/models');
    expect([page('.link-row a').length > 1, page('.link-row [aria-current]').length]).to.deep.equal([true, 0]);
    expect(namesIn((await read('?q=Vektors')).page)).to.deep.equal(['vectors']);
    const { page: near } = await read('?q=big-l');
    expect(near('.empty').text()).to.contain('The closest name is below.');
    expect(near('.models a.model-try').attr('href')).to.equal('/playground?model=big-1');
    expect(cardOf(near, 'big-1')).to.contain('$12.50');
  });

  it('says once what all of a kind do, and lists those of which only the name is known', async () => {
    const { page } = await read('?q=chats&page=2');
    expect(page('.model-kind > .row').text()).to.contain('Text').and.to.contain('Chat and tools');
    expect([page('.models th').length, page('.model-names li').length]).to.deep.equal([0, 22]);
    expect(page('.model-names .copy-icon')).to.have.length(22);
    expect(page('div.model-routes').text()).to.contain('/v1/chat/completions');
    const { page: images } = await read('?kind=image');
    expect(images('.models thead').text()).to.equal('ModelFormatsEditsPrice');
    expect((await read('?kind=text')).page('.models thead').text()).to.contain('Does');
    const { page: big } = await read('?q=big');
    const cells = big('.models tbody td.number.card-none')
      .toArray()
      .map((one) => big(one).text());
    expect(cells).to.deep.equal(['$0.15', '$12.50']);
    expect(big('.models th button').prev().text()).to.equal('big-1');
  });

  it('refuses other values with the field', async () => {
    for (const query of ['?kind=video', '?page=0', '?page=x', `?q=${'a'.repeat(201)}`, '?q=a&q=b']) {
      expect((await read(query)).status, query).to.equal(400);
    }
  });

  it('shows hostile names as text, and names no upstream', async () => {
    const { text, page } = await read(`?q=${encodeURIComponent('"><script>')}`);
    expect(namesIn(page)).to.deep.equal([HOSTILE]);
    expect(text).not.to.contain('<script>alert');
    expect(page('input[type="search"]').attr('value')).to.equal('"><script>');
    expect((await read()).text).not.to.contain('secret-upstream');
  });

  it('has prices only where they are public', async () => {
    const { page } = await read('?q=big');
    expect(cardOf(page, 'big-1')).to.contain('Prices for a million tokens').and.to.contain('$0.15 in · $12.50 out');
    expect((await read('?kind=image')).text).to.contain('up to $0.04 / image');
    const hidden = await start({ publicPriceTablesVisible: false });
    try {
      for (const query of ['?q=big', '?kind=image']) expect((await read(query, hidden)).text).not.to.contain('$');
    } finally {
      await hidden.close();
    }
  });

  it('has platforms only where a plan includes them', async () => {
    expect((await read('?q=invented')).page('.empty')).to.have.length(1);
    const open = await start({ furtherGrants: [{ planId: 'token_30m', grants: ['extract'] }] });
    try {
      const { page } = await read('?kind=link', open);
      expect(namesIn(page)).to.deep.equal(['Invented']);
      expect(cardOf(page, 'Invented'))
        .to.contain('https://invented.example/item/<digits>')
        .and.to.contain('up to $0.002 / link');
    } finally {
      await open.close();
    }
  });

  it('is in the order of GET /v1/models, without what that leaves out', async () => {
    const key = await app.makeKey({ grants: ['text'] });
    const { json } = await app.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
    const listed = (json.data as { id: string }[]).map(({ id }) => id);
    const pages = await Promise.all([1, 2, 3, 4].map((number) => read(`?page=${number}`)));
    const shown = pages.flatMap(({ page }) => namesIn(page));
    const kept = shown.filter((name) => listed.includes(name));
    expect(kept).to.have.length(shown.length);
    expect(new Set(listed)).to.deep.equal(new Set(shown));
  });
});
