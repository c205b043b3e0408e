/** The languages of the site: choice, formats, and complete catalogues; pages show no text outside of them. */

import { expect } from 'chai';
import { load } from 'cheerio';
import { ERROR_CODES, GatewayError } from 'mediagate';
import { LIMITATIONS } from '../../../core/extraction/index.js';
import type { ErrorCode } from '../../../core/runtime/index.js';
import type { RequestContext } from '../../../server/http/index.js';
import { createPepper } from '../../../server/keys/index.js';
import { Html } from '../../../server/site/html.js';
import { renderFailure } from '../../../server/site/index.js';
import {
  counted,
  FORMATS,
  LOCALES,
  scriptTexts,
  TEXTS,
  VIETNAMESE_SENTENCES,
} from '../../../server/site/language/index.js';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { readPage } from '../../support/docs/documents.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

/** Texts that are the same in both languages: names, and words that Vietnamese has taken over. */
const NAMES: ReadonlySet<string> = new Set([
  ...[
    'mediagate',
    'OpenAI',
    'Anthropic',
    'API',
    'Token',
    'Video',
    'MP3',
    'Seed',
    'Email',
    'IBAN',
    'OIDC_ISSUER',
    'Codex',
    'curl',
    'Claude Code',
    'VS Code',
    'Menu',
    'Node.js',
    'Python',
  ],
]);
/** Files, addresses, dates, milliseconds, codes of orders, and names of models and platforms. */
const CODES =
  /^(MG[0-9A-Z]{8}|~?[\w./-]+\.\w+|\/v1\/[\w/]+|https?:\S*|[\w.-]*\d[\w.-]*|[a-z]+(_[a-z]+)+|req_…|BCDF-GHJK|XXXX-XXXX|\d+ ms)$/;
/** Of models: efforts and voices. */
const VALUES = [
  ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  ...['alloy', 'echo', 'fable', 'nova', 'onyx', 'shimmer'],
];
/** Of the account. */
const KEYS = ['laptop', 'nightly import', 'shop website'];
/** What the operator has named. */
const OPERATOR_TEXTS: ReadonlySet<string> = new Set([
  ...PRICED_PLANS.plans.map(({ name }) => name),
  ...Object.values(PRICED_PLANS.support).filter((text) => text !== null),
  ...Object.values(EURO_RECEIVER).filter((text) => text !== null),
]);
const PUBLIC_PAGES = [
  '/',
  '/login',
  '/models',
  '/models?q=none',
  '/status',
  '/plans',
  '/setup',
  '/connect',
  '/nowhere',
];
const OWN_PAGES = [
  ...[
    '/',
    '/plans',
    '/setup',
    '/connect',
    '/dashboard',
    '/keys',
    '/usage',
    '/usage?by=model',
    '/usage?by=day',
    '/requests',
  ],
  ...['/orders', '/playground', '/images'],
  ...['/requests?outcome=failed', '/requests?code=none', '/device', '/device?user_code=BCDF-GHJK', '/pay/MG00000000'],
  ...['/device?answered=approve', '/device?answered=deny', '/usage?from=2020-01-01&to=2020-01-02'],
];

describe('languages of the site', () => {
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ catalogue: PRICED_PLANS, paymentReceiver: EURO_RECEIVER });
  });
  after(() => app?.close());

  const languageOf = async (browser: BrowserSession, headers: Record<string, string> = {}, path = '/login') =>
    /<html lang="(\w+)"/.exec((await browser.send(app.url + path, { headers })).text)?.[1];
  const choose = (browser: BrowserSession, language: string, referer?: string) =>
    browser.send(`${app.url}/language`, { form: { language }, headers: referer === undefined ? {} : { referer } });

  it('follow what the browser asks for, and are English without', async () => {
    const stranger = createBrowserSession();
    const asked = { 'vi-VN,vi;q=0.9,en;q=0.8': 'vi', vi: 'vi', 'en-GB,vi;q=0.5': 'en', 'fr,vi;q=0.2': 'vi', fr: 'en' };
    for (const [header, language] of Object.entries(asked)) {
      expect(await languageOf(stranger, { 'accept-language': header }), header).to.equal(language);
    }
    expect(await languageOf(stranger)).to.equal('en');
    expect(await languageOf(stranger, { 'accept-language': 'vi' }, '/nowhere')).to.equal('vi');
  });

  it('are chosen by the switch, which returns to its page', async () => {
    const stranger = createBrowserSession();
    const { status, location, headers } = await choose(stranger, 'vi', `${app.url}/login?return_to=/usage`);
    expect([status, location]).to.deep.equal([303, `${app.url}/login?return_to=/usage`]);
    expect(headers.get('set-cookie')).to.match(/^language=vi; Max-Age=31536000; Path=\/; HttpOnly;.* SameSite=Lax$/);
    expect(await languageOf(stranger, { 'accept-language': 'en' })).to.equal('vi');
    expect(await languageOf(stranger, {}, '/nowhere')).to.equal('vi');
    await choose(stranger, 'en');
    expect(await languageOf(stranger, { 'accept-language': 'vi' })).to.equal('en');
  });

  it('follow the account to other browsers, before what these have chosen', async () => {
    const first = await app.signedIn('mai@example.com');
    await choose(first, 'vi');
    const second = createBrowserSession();
    await choose(second, 'en');
    expect(await languageOf(second, {}, '/plans')).to.equal('en');
    await app.signIn(second, 'mai@example.com');
    const [user] = await app.state.users.findByEmail('mai@example.com');
    expect(user?.language).to.equal('vi');
    const { orders } = await useAccount(app.state, user!, createPepper(Buffer.alloc(32, 'mai')));
    const paid = orders.find(({ state }) => state === 'paid')?.code;
    const more = [`/pay/${paid}/receipt`, '/models', '/status', '/docs', '/docs/quickstart', '/docs/search?q=key'];
    for (const path of [...OWN_PAGES, ...more]) {
      expect(await languageOf(second, {}, path), path).to.equal('vi');
    }
  });

  it('have words for every error, and none of the message in Vietnamese', async () => {
    const message = 'A message for programs.';
    const shown = async (code: ErrorCode, language: 'en' | 'vi') => {
      const state = { language, requestId: 'req_1' };
      const page = load(
        await renderFailure(new GatewayError(code, message), { state, req: { headers: {} } } as RequestContext),
      );
      return { page, words: page('[role=alert]').text(), title: page('h1').text() };
    };
    const sentences = new Set<string>();
    for (const code of ERROR_CODES) {
      const english = await shown(code, 'en');
      const vietnamese = await shown(code, 'vi');
      expect(english.words, code).to.match(/^[A-Z].+\.$/);
      expect(vietnamese.words, code)
        .to.match(/^[`\p{Lu}].+\.$/u)
        .and.not.to.equal(english.words);
      expect(vietnamese.page.text(), code).not.to.contain(message);
      expect(vietnamese.title, code).not.to.equal(english.title);
      sentences.add(vietnamese.words);
    }
    // No sentence for all: a few codes mean the same to a person.
    expect(sentences.size).to.be.greaterThan(0.9 * ERROR_CODES.length);
  });

  it('return to no other site, and accept no other language and no form of another site', async () => {
    const stranger = createBrowserSession();
    for (const referer of ['https://other.example/x', 'nonsense', `${app.url}//other.example`, `${app.url}/signin`]) {
      expect((await choose(stranger, 'vi', referer)).location, referer).to.equal(`${app.url}/`);
    }
    expect((await choose(stranger, 'fr')).status).to.equal(400);
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://other.example' };
    const foreign = await stranger.send(`${app.url}/language`, { form: { language: 'en' }, headers });
    expect(foreign.status).to.equal(403);
    expect(await languageOf(stranger)).to.equal('vi');
  });

  it('name the language of the guides inside of a Vietnamese frame', async () => {
    const vietnamese = createBrowserSession();
    await choose(vietnamese, 'vi');
    const overview = load((await vietnamese.send(`${app.url}/docs`)).text);
    expect([overview('main').attr('lang'), overview('h1').text()]).to.deep.equal([undefined, 'Tài liệu']);
    const { text, headers } = await vietnamese.send(`${app.url}/docs/guides/images`);
    expect(headers.get('vary')).to.contain('Cookie').and.to.contain('Accept-Language');
    const page = load(text);
    expect([page('html').attr('lang'), page('main').attr('lang')]).to.deep.equal(['vi', 'en']);
    expect(page('.docs-language[lang=vi]').text())
      .to.match(/^Trang này viết bằng tiếng Anh\./)
      .and.to.contain('Tạo ảnh bằng tác vụ nền');
    expect([page('h1').text(), page('.docs-fold h2').eq(1).text()]).to.deep.equal(['Images', 'Wait for the end']);
    expect(page('.docs-toc [lang=en] a').eq(1).text()).to.equal('Wait for the end');
    expect(page('article').text()).not.to.match(/[ăđơưạ-ỹ]/);
    expect(page('.docs-place li').last().text()).to.equal('Ảnh');
    expect(page('.docs-neighbours [rel=next]').text()).to.equal('Trang sauLô chạy nền');
    expect(page('.docs-toc summary').text()).to.equal('Trên trang này');
    expect(page('script[src*="/texts-"]').attr('src')).to.match(/texts-en\.js$/);
    const side = page('.docs-side');
    expect([side.attr('lang'), side.find('.docs-menu').text()]).to.deep.equal(['vi', 'Mục lục']);
    expect(side.find('summary').first().text()).to.equal('Bắt đầu');
    expect(side.find('summary').closest('[lang]').attr('lang')).to.equal('vi');
    // The only title without a translation is the name of a file.
    expect(side.find('nav a[lang]').text()).to.equal('plugins.config.json');
    expect(side.find('nav a[aria-current]').text()).to.equal('Ảnh');
    const results = load((await vietnamese.send(`${app.url}/docs/search?q=image`)).text);
    expect(results('.page-head > :not(nav)').text()).to.match(/^“image”\d+ kết quả.*\. Nội dung bằng tiếng Anh\.$/);
    const part = results('.result-groups a[href*="in=Guides"]').attr('href');
    const guides = load((await vietnamese.send(app.url + part)).text)('.results h2');
    expect(guides.length).to.be.greaterThan(0);
    expect(guides.filter((_, one) => !load(one).text().startsWith('Hướng dẫn'))).to.have.length(0);
    const found = load((await vietnamese.send(`${app.url}/docs/search?q=khóa+API+hết+hạn`)).text);
    expect(found('.results a').first().attr('href')).to.equal('/docs/api/errors#expired_api_key');
    expect(results('.results ol').closest('[lang]').attr('lang')).to.equal('en');
    const jobs = load((await vietnamese.send(`${app.url}/docs/search?q=image+job`)).text);
    expect(jobs('.results a').first().text()).to.equal('Submit an image job');
    const group = load((await vietnamese.send(`${app.url}/docs/api/images`)).text);
    expect([group('main').attr('lang'), group('h1').text()]).to.deep.equal(['en', 'Images']);
    expect(group('.docs-language[lang=vi]').text()).to.contain('Ảnh trong một yêu cầu');
    expect(group('.docs-folds').text()).not.to.match(/[ăđơưạ-ỹ]/);
    const errors = load((await vietnamese.send(`${app.url}/docs/api/errors`)).text);
    for (const code of ERROR_CODES) {
      const words = errors(`#${code} dd p`)
        .toArray()
        .map((one) => errors(one).text());
      expect(words, code).to.have.length(2);
      for (const text of words) expect(text, code).to.match(/[àáâãèéêìíòóôõùúýăđĩũơưạ-ỹ]/i);
    }
    expect((await createBrowserSession().send(`${app.url}/docs`)).text).to.contain('<html lang="en">');
  });

  it('show no text outside of the catalogues', async () => {
    const known = await app.signedIn('ann@example.com');
    const [user] = await app.state.users.findByEmail('ann@example.com');
    const { orders } = await useAccount(app.state, user!, createPepper(Buffer.alloc(32, 'languages')));
    const receipt = `/pay/${orders.find(({ state }) => state === 'paid')?.code}/receipt`;
    const textsOf = async (language: string) => {
      const stranger = createBrowserSession();
      const found = new Map<string, Set<string>>();
      for (const [browser, paths] of [
        [stranger, PUBLIC_PAGES],
        [known, [...OWN_PAGES, ...orders.map(({ code }) => `/pay/${code}`), receipt]],
      ] as const) {
        await choose(browser, language);
        const of = browser === known ? 'known' : 'stranger';
        for (const path of paths) found.set(`${of} ${path}`, shownTexts((await browser.send(app.url + path)).text));
      }
      return found;
    };
    const english = await textsOf('en');
    const untranslated: string[] = [];
    for (const [path, found] of await textsOf('vi')) {
      expect(found.size, path).to.be.greaterThan(10);
      const same = [...found].filter((text) => english.get(path)?.has(text) && !isName(text));
      untranslated.push(...same.map((text) => `${path}: ${text}`));
    }
    expect(untranslated).to.deep.equal([]);
  });
});

describe('formats of the languages', () => {
  const at = Date.parse('2026-11-21T20:26:07Z');
  const shown = (value: Html | string) => (value instanceof Html ? value.markup.replace(/<[^>]+>/g, '') : value);

  it('write numbers, money, times and lists as people read them', () => {
    const { en, vi } = FORMATS;
    expect([en.count(1_250_000.5), vi.count(1_250_000.5)]).to.deep.equal(['1,250,000.5', '1.250.000,5']);
    expect([en.shortCount(1_250_000), vi.shortCount(1_250_000)]).to.deep.equal(['1.3M', '1,3\u00a0triệu']);
    expect([en.dataSize(12_300_000), vi.dataSize(1_500_000_000)]).to.deep.equal(['12.3 MB', '1,5 GB']);
    expect([en.money(299_000, 'VND'), vi.money(299_000, 'VND')]).to.deep.equal(['₫299,000', '299.000\u00a0₫']);
    expect([en.money(1_900, 'EUR'), vi.money(5, 'USD')]).to.deep.equal(['€19.00', '0,05\u00a0US$']);
    expect([en.day(at), vi.day(at)].map(shown)).to.deep.equal(['21 Nov 2026', '21/11/2026']);
    expect([en.shortDay(at), vi.shortDay(at)]).to.deep.equal(['21 Nov', '21/11']);
    expect([en.minute(at), vi.minute(at)].map(shown)).to.deep.equal(['21 Nov, 20:26 UTC', '21/11, 20:26 UTC']);
    expect([en.second(at), vi.second(at)].map(shown)).to.deep.equal(['21 Nov, 20:26:07', '21/11, 20:26:07']);
    expect([en.anyOf(['a', 'b', 'c']), vi.anyOf(['a', 'b', 'c'])]).to.deep.equal(['a, b or c', 'a, b hoặc c']);
    expect([en.allOf(['a', 'b']), vi.allOf(['a', 'b'])]).to.deep.equal(['a and b', 'a và b']);
    expect([counted(1, 'day'), counted(1_200, 'day')]).to.deep.equal(['1 day', '1,200 days']);
  });
});

describe('catalogues of texts', () => {
  it('have every text in both languages, translated', () => {
    const pairs = [
      ...pairsOf(TEXTS.en, TEXTS.vi, 'texts'),
      ...pairsOf(scriptTexts('en'), scriptTexts('vi'), 'scripts'),
    ];
    expect(pairs.length).to.be.greaterThan(100);
    const untranslated = pairs.filter(({ en, vi }) => en === vi && /\p{L}/u.test(en) && !NAMES.has(en));
    expect(untranslated.map(({ path }) => path)).to.deep.equal([]);
    for (const { path, en, vi } of pairs) {
      expect(vi, path).not.to.equal('');
      expect(valuesIn(vi), path).to.deep.equal(valuesIn(en));
    }
  });

  it('name only parts that the guides have', () => {
    for (const [file, { parts }] of Object.entries(TEXTS.vi.documentation.guides)) {
      const headings = [...readPage(`docs/${file}`).matchAll(/^## (.+)$/gm)].map(([, title = '']) =>
        title.replaceAll('`', ''),
      );
      expect(headings, file).to.include.members(Object.keys(parts));
    }
  });

  it('have a Vietnamese sentence for every code of errors and of limitations', () => {
    const { errors, limitations } = VIETNAMESE_SENTENCES;
    expect(Object.keys(errors)).to.include.members([...ERROR_CODES]);
    expect(Object.keys(limitations)).to.have.members(Object.keys(LIMITATIONS));
  });

  it('are used under their language', () => {
    expect(LOCALES.vi.texts.layout.signIn).to.equal('Đăng nhập');
    expect(LOCALES.en.texts.layout.signIn).to.equal('Sign in');
  });
});

function isName(text: string): boolean {
  return (
    NAMES.has(text) || KEYS.includes(text) || VALUES.includes(text) || OPERATOR_TEXTS.has(text) || CODES.test(text)
  );
}

/** Texts of both languages at the same place; those of functions are compared on pages. */
function pairsOf(en: unknown, vi: unknown, path: string): { path: string; en: string; vi: string }[] {
  expect(typeof vi, path).to.equal(typeof en);
  if (typeof en === 'string') return [{ path, en, vi: vi as string }];
  if (en instanceof Html) return [{ path, en: en.markup, vi: (vi as Html).markup }];
  if (typeof en !== 'object' || en === null) return [];
  expect(Object.keys(vi as object), path).to.include.members(Object.keys(en));
  return Object.entries(en).flatMap(([name, value]) =>
    pairsOf(value, (vi as Record<string, unknown>)[name], `${path}.${name}`),
  );
}

/** Names of values and of elements in a text. */
function valuesIn(text: string): string[] {
  return [...text.matchAll(/\{\w+\}|<\w+/g)].map(([name]) => name).sort();
}

const SHOWN_ATTRIBUTES = ['aria-label', 'title', 'placeholder', 'alt', 'data-confirm', 'data-confirm-label'];

/** Texts with a letter that people see or hear, besides code, names of people, and parts in a language of their own. */
function shownTexts(markup: string): Set<string> {
  const page = load(markup);
  page('script, style, code, bdi, .mono, main [lang], .site-header form [lang]').remove();
  const texts = page('title, body, body *')
    .toArray()
    .flatMap((node) => [
      ...page(node)
        .contents()
        .toArray()
        .flatMap((child) => (child.type === 'text' ? [child.data] : [])),
      ...SHOWN_ATTRIBUTES.map((name) => page(node).attr(name) ?? ''),
    ]);
  return new Set(texts.map((text) => text.replaceAll(/\s+/g, ' ').trim()).filter((text) => /\p{L}{2}/u.test(text)));
}
