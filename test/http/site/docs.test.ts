/** The documentation of the site: that it is complete, light, and found by words. */

import { expect } from 'chai';
import { type CheerioAPI, load } from 'cheerio';
import { assets } from '../../../server/site/assets.js';
import { codeOf, exampleOf } from '../../../server/site/docs/examples.js';
import { guideEntries } from '../../../server/site/docs/guide-content.js';
import type { Operation } from '../../../server/site/docs/operations.js';
import { resultsByPage, SearchIndex } from '../../../server/site/docs/search.js';
import { linesOfCode, tokensOfCode } from '../../../server/site/highlight.js';
import { VIETNAMESE_OPERATIONS } from '../../../server/site/language/texts/operation-titles.js';
import { documentPages, readPage } from '../../support/docs/documents.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const MAX_BYTES = 60_000;
/** The page of all commands is long. */
const MAX_GUIDE_BYTES = 65_000;
const FONTS = ['geist-latin.woff2'];

describe('pages of the documentation', () => {
  let app: SignInApp;
  let urls: string[];

  before(async () => {
    app = await startSignInApp();
    const $ = load((await app.request('/docs')).text);
    urls = [
      ...new Set(
        $('nav a[href^="/docs"]')
          .map((_, link) => $(link).attr('href'))
          .get(),
      ),
    ];
  });
  after(() => app?.close());

  const visited = new Map<string, CheerioAPI>();

  /** The page, which is parsed once for all tests that only read it. */
  async function visit(path: string) {
    const page = visited.get(path) ?? load((await app.request(path)).text);
    visited.set(path, page);
    return page;
  }

  it('have every operation of the document on one page, and none of those for browsers', async () => {
    const { paths, webhooks } = (await app.request('/openapi.json')).json as Record<
      string,
      Record<string, Record<string, { operationId: string; summary: string; tags?: string[] }>>
    >;
    const described = Object.values({ ...paths, ...webhooks })
      .flatMap((methods) => Object.values(methods))
      .filter(({ tags }) => !tags?.includes('Pages'));
    const shown: string[] = [];
    for (const url of urls) {
      const $ = await visit(url);
      shown.push(
        ...$('section.operation')
          .map((_, one) => $(one).attr('id') ?? '')
          .get(),
      );
    }
    expect(shown).to.have.members(described.map(({ operationId }) => operationId));
    expect(described.map(({ summary }) => summary)).to.include.members(Object.keys(VIETNAMESE_OPERATIONS));
  });

  it('link to places that exist', async () => {
    const ids = new Map<string, Set<string>>();
    const links: string[] = [];
    for (const url of urls) {
      const $ = await visit(url);
      const all = $('[id]')
        .map((_, one) => $(one).attr('id') ?? '')
        .get();
      expect(new Set(all).size, `${url} has each id once`).to.equal(all.length);
      ids.set(url, new Set(all));
      links.push(
        ...$('.docs a:not([href^="http"])')
          .map((_, one) => new URL($(one).attr('href') ?? '', `http://docs${url}`).href)
          .get(),
      );
    }
    expect(links.length).to.be.greaterThan(500);
    for (const link of new Set(links)) {
      const { pathname, hash } = new URL(link);
      if (!pathname.startsWith('/docs')) continue;
      expect(ids.has(pathname.replace(/\.md$/, '')), link).to.equal(true);
      if (hash !== '') expect(ids.get(pathname)?.has(decodeURIComponent(hash.slice(1))), link).to.equal(true);
    }
  });

  it('describe each error code once', async () => {
    const $ = await visit('/docs/api/errors');
    const { ErrorCode } = (await app.request('/openapi.json')).json.components.schemas;
    const codes: string[] = ErrorCode.anyOf.map((one: { const: string }) => one.const);
    expect(
      $('#codes dt > code')
        .map((_, one) => $(one).text())
        .get(),
    ).to.have.members(codes);
    const statuses = $('.status-group h3')
      .map((_, one) => Number.parseInt($(one).text(), 10))
      .get();
    expect(statuses).to.deep.equal([...statuses].sort((one, other) => one - other));
  });

  /** What a script imports. */
  async function partsOf(name: string): Promise<string[]> {
    const text = String(await assets.find(name)!.bytes('identity'));
    return [...text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)].map(([, part = '']) => part);
  }

  it('are small with everything they load, and say all without scripts', async () => {
    for (const url of urls) {
      const response = await fetch(app.url + url, { headers: { 'accept-encoding': 'br' } });
      const text = await response.text();
      expect(response.headers.get('content-encoding')).to.equal('br');
      const named = [...text.matchAll(/(?:src|href)="\/assets\/[^/]+\/([^"]+)"/g)].map(([, name = '']) => name);
      const files = new Set([...named, ...FONTS]);
      for (const name of files) if (name.endsWith('.js')) for (const part of await partsOf(name)) files.add(part);
      let bytes = Number(response.headers.get('content-length'));
      expect(bytes, url).to.be.greaterThan(1_000);
      for (const name of files) {
        const asset = assets.find(name)!;
        bytes += (await asset.bytes(name.endsWith('woff2') ? 'identity' : 'br')).length;
      }
      expect(bytes, url).to.be.below(url.startsWith('/docs/api') ? MAX_BYTES : MAX_GUIDE_BYTES);
    }
    const $ = await visit('/docs/api/images');
    // A reader of a phone meets the example before the fields.
    expect(
      $('#postV1ImagesJobs > div')
        .map((_, one) => $(one).attr('class'))
        .get()
        .join(' '),
    ).to.equal('operation-words stack-small operation-code stack operation-fields stack');
    expect($('#postV1ImagesJobs').text()).to.contain('A tug in the harbour at dawn').and.to.contain('response_format');
  });

  it('are the same for all members and for all visitors, and answer 304 to browsers that have them', async () => {
    const [, ...members] = [
      await app.signedIn('operator@example.com'),
      await app.signedIn('ann@example.com'),
      await app.signedIn('bob@example.com'),
    ];
    const own = await Promise.all(members.map((member) => member.send(`${app.url}/docs/api/chat`)));
    expect(own.map((answer) => answer.headers.get('cache-control'))).to.deep.equal(Array(2).fill('private, no-cache'));
    expect(own[0]?.text).to.equal(own[1]?.text).and.to.contain('action="/signout"');
    const { headers } = await app.request('/docs/api/chat');
    expect(headers.get('cache-control')).to.equal('public, no-cache');
    expect(headers.get('content-security-policy')).to.contain("script-src 'self'").and.not.to.contain('unsafe');
    const etag = headers.get('etag') ?? '';
    const again = await app.request('/docs/api/chat', { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });

  it('find operations, error codes and objects by words, and show the words of the query as text', async () => {
    const first = async (query: string) => {
      const $ = await visit(`/docs/search?q=${encodeURIComponent(query)}`);
      return $('.results a').first().attr('href');
    };
    expect(await first('submit image job')).to.equal('/docs/api/images#postV1ImagesJobs');
    expect(await first('image job')).to.match(/^\/docs\/api\/images#/);
    expect(await first('hủy tác vụ ảnh')).to.equal('/docs/api/images#deleteV1ImagesJobsId');
    const $ = await visit('/docs/search?q=image+job');
    expect($('.results h3 mark').first().text()).to.equal('image');
    expect(await first('invalid_value')).to.equal('/docs/api/errors#invalid_value');
    expect(await first('/v1/oembed')).to.equal('/docs/api/links#getV1Oembed');
    expect(await first('zzzz')).to.equal(undefined);
    const hostile = '"><script>alert(1)</script>';
    const { text } = await app.request(`/docs/search?q=${encodeURIComponent(hostile)}`);
    expect(text).not.to.contain('<script>alert');
    expect(text).to.contain('&lt;script&gt;');
    expect((await app.request('/docs/search')).text).to.contain('Enter one or more words');
    expect((await app.request(`/docs/search?q=${'a%20'.repeat(500)}`)).status).to.equal(200);
  });

  it('show every guide of the project with its links, and its Markdown as it is', async () => {
    const files = documentPages().filter((page) => page.startsWith('docs/'));
    const guides = urls.filter((url) => url !== '/docs' && !url.startsWith('/docs/api/'));
    const overview = await visit('/docs');
    expect(overview('.guides-first a').length).to.equal(12);
    expect(guides).to.have.members(files.map((file) => `/${file.replace(/\.md$/, '')}`));
    const $ = await visit('/docs/operate/deploy');
    expect($('h1').text()).to.equal('Deploy');
    expect($('.prose table th').length).to.be.greaterThan(0);
    expect($('.prose a[href^="/docs/"]').length).to.be.greaterThan(3);
    expect($('.prose a[href$=".md"], .prose a[href^=".."]').length).to.equal(0);
    const { headers, text } = await app.request('/docs/operate/deploy.md');
    expect(text).to.equal(readPage('docs/operate/deploy.md'));
    expect(headers.get('content-type')).to.equal('text/markdown; charset=utf-8');
    const list = await visit('/docs/operate/security');
    expect(list('.prose li').first().text()).to.match(/^☐ The gateway listens/);
    expect(list('.prose input').length).to.equal(0);
  });

  it('find sections of guides', async () => {
    const $ = await visit('/docs/search?q=SIGHUP');
    expect(
      $('.results a')
        .map((_, one) => $(one).attr('href'))
        .get()
        .join(' '),
    ).to.contain('/docs/operate/workers');
  });

  it('find headings, not lines of code, and an object once', async () => {
    const titles = async (query: string) => {
      const $ = await visit(`/docs/search?q=${encodeURIComponent(query)}`);
      return $('.results a')
        .map((_, one) => $(one).text())
        .get();
    };
    const found = await titles('image job');
    expect(found.filter((title) => title === 'ImageJob')).to.have.length(1);
    expect(found.filter((title) => /^data: |^Key |[{}]/.test(title))).to.deep.equal([]);
    expect((await titles('It is not shown again')).filter((title) => title.startsWith('Key '))).to.deep.equal([]);
  });

  it('do not exist for other names', async () => {
    for (const path of [
      '/docs/api/none',
      '/docs/none',
      '/docs/guides/none',
      '/docs/..%2fpackage.json',
      '/docs/guides/..%2f..%2fpackage.json',
      '/docs/api/__proto__',
      '/docs/5.35.0/swagger-ui.css',
    ])
      expect((await app.request(path)).status, path).to.equal(404);
  });
});

describe('search of the documentation', () => {
  const guide = (file: string, markdown: string) => ({ file, url: `/docs/${file}`, title: 'Boats', markdown });

  it('cuts guides at headings outside of code', () => {
    const markdown =
      '# Boats\n\nAll.\n\n~~~sh\n```\n# A comment\n~~~\n\n## Tugs\n\n````md\n```\n## No heading\n````\n\nThey pull.';
    const entries = guideEntries(guide('guides/boats', markdown));
    expect(entries.map(({ title, place }) => `${title}, ${place}`)).to.deep.equal([
      'Boats, Guides, Boats',
      'Tugs, Guides, Boats',
    ]);
    expect(entries[1]?.text).to.contain('No heading').and.to.contain('They pull.');
  });

  it('puts pages for developers of the gateway below the others, and results of one page together', () => {
    const pages = [
      guide('develop/boats', '# Tug boats\n\nA tug boat is a boat.'),
      guide('guides/boats', '# Harbour\n\nEmpty.\n\n## Work\n\nA tug boat pulls.\n\n## Tug boats\n\nBoats.'),
    ];
    const found = new SearchIndex(pages.flatMap(guideEntries)).find('tug boat');
    expect(found.map(({ url }) => url)).to.deep.equal([
      '/docs/guides/boats#tug-boats',
      '/docs/guides/boats#work',
      '/docs/develop/boats',
    ]);
    const other = { title: 'Other', url: '/docs/other', place: 'Other', heading: [], excerpt: [] };
    const [first, second] = [found[0]!, found[1]!];
    expect(resultsByPage([first, other, second]).map(({ place, results }) => [place, results.length])).to.deep.equal([
      ['Guides, Boats', 2],
      ['Other', 1],
    ]);
  });

  const index = new SearchIndex([
    { title: 'Cancel a job', url: '/a', place: 'Images', text: 'Stops it. Nothing is charged (a.b).' },
    { title: 'Prices', url: '/b', place: 'Operate', text: 'What a job and an image cost.' },
  ]);

  it('needs every word, prefers titles, and marks what was found', () => {
    expect(index.find('job').map(({ url }) => url)).to.deep.equal(['/a', '/b']);
    expect(index.find('JOB image cost').map(({ url }) => url)).to.deep.equal(['/b']);
    const [found] = index.find('charged');
    expect(found?.excerpt.filter(({ isMarked }) => isMarked)).to.deep.equal([{ text: 'charged', isMarked: true }]);
    expect(found?.excerpt.map(({ text }) => text).join('')).to.equal('Nothing is charged (a.b).');
  });

  it('reads no word as a pattern', () => {
    expect(index.find('(a.b)').map(({ url }) => url)).to.deep.equal(['/a']);
    for (const query of ['.*', '[', '\\', 'a|b', '   ']) expect(index.find(query), query).to.deep.equal([]);
  });
});

describe('examples of the API reference', () => {
  const operation: Operation = {
    id: 'x',
    method: 'POST',
    path: '/v1/things/{id}',
    isSent: false,
    tag: 'Images',
    summary: '',
    description: '',
    security: ['apiKey'],
    parameters: [{ name: 'id', in: 'path', required: true, schema: {}, example: 'a' }],
    body: { 'application/json': { schema: {}, example: { text: "it's", yes: true, none: null, words: 'true null' } } },
    answers: [],
    errors: [],
  };

  it('quote values for each language', () => {
    const request = exampleOf(operation, 'http://gateway')!;
    expect(codeOf(request, 'curl')).to.contain(`"it'\\''s"`).and.to.contain('curl http://gateway/v1/things/a');
    expect(codeOf(request, 'node')).to.contain(`"it's"`).and.to.contain("method: 'POST'");
    expect(codeOf(request, 'python'))
      .to.contain('"yes": True')
      .and.to.contain('"none": None')
      .and.to.contain('"words": "true null"');
  });

  it('are left out where a value is missing, and for webhooks', () => {
    const parameters = [{ name: 'id', in: 'path', required: true, schema: {} }] as const;
    expect(exampleOf({ ...operation, parameters }, '')).to.equal(undefined);
    expect(exampleOf({ ...operation, isSent: true }, '')).to.equal(undefined);
  });
});

describe('colours of code', () => {
  const words = (text: string, language: string) =>
    tokensOfCode(text, language).flatMap(({ text: part, kind }) =>
      kind === undefined ? [] : [`${kind}: ${part.trim()}`],
    );

  it('tell names, strings, numbers and words of a language apart', () => {
    expect(words('{"a": "b", "n": 4}', 'json')).to.deep.equal(['name: "a"', 'string: "b"', 'name: "n"', 'number: 4']);
    expect(words(`curl http://a.example/v1 -d '{"n": 4}' # all`, 'sh')).to.deep.equal([
      ...['name: curl', 'word: -d', 'name: "n"', 'number: 4', 'comment: # all'],
    ]);
    expect(words('import os', 'python')).to.deep.equal(['word: import']);
  });

  it('leave every text as it is, also one of an unknown language, and its lines', () => {
    const long = `  -d '{"a":"${'b'.repeat(40)}","c":4}' \\\n\nhttps://a.example/v1/x?y=1&z=${'2'.repeat(40)}\n`;
    const texts = ['', '"', '`${', "'{", '<script>\u0000</script>', 'f"{', '/*', '$((1))', '#'.repeat(60_000), long];
    const joined = (tokens: readonly { text: string }[]) => tokens.map((token) => token.text).join('');
    for (const language of ['sh', 'json', 'js', 'python', 'toml', 'yaml', 'constructor', ''])
      for (const text of texts) {
        const name = `${language}: ${text.slice(0, 20)}`;
        expect(joined(tokensOfCode(text, language)), name).to.equal(text);
        const lines = linesOfCode(text, language);
        if (lines)
          expect(joined(lines.flatMap(({ parts }) => parts.flatMap(({ tokens }) => tokens))), name).to.equal(text);
      }
  });

  it('are in lines, of which long ones may break between the parts of addresses and of JSON', () => {
    const text = `short\n    "a": "${'b'.repeat(40)}"\n{"model":"gen-img-2","prompt":"a tug boat"}`;
    const lines = linesOfCode(text, 'json')!;
    expect(lines.map(({ className }) => className)).to.deep.equal(['code-line', 'code-line in-2', 'code-line']);
    const shown = (code: string, language: string) =>
      linesOfCode(code, language)!.map(({ parts }) =>
        parts
          .map(({ isWhole, tokens }) => {
            const words = tokens.map(({ text: part, mayBreak }) => (mayBreak ? `${part}|` : part)).join('');
            return isWhole ? `[${words}]` : words;
          })
          .join(''),
      );
    expect(shown(text, 'json')[2]).to.equal('{["model":"gen-img-2",]["prompt":"a tug boat"]}');
    const command = `curl https://a.example/v1/images -H 'Accept: x' -d '{"a":4,"b":5}' \\`;
    expect(shown(command, 'sh')).to.deep.equal([
      `curl https://a.example/|v1/|images [-H 'Accept: x'] -d '{["a":4,]["b":5][}' \\]`,
    ]);
    expect(linesOfCode(text, 'no language')).to.equal(undefined);
  });
});
