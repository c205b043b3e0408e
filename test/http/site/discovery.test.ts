/** What other programs learn of the site: tags of previews, rules for search engines, the web manifest, and edit links. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { load } from 'cheerio';
import { readSettings } from 'mediagate/server';
import { mediaTypeOf } from '../../../core/media/index.js';
import { loadBrand } from '../../../server/site/index.js';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const EDIT_URL = 'https://git.example/us/mediagate/edit/main/docs';

describe('what other programs learn of the site', () => {
  let app: SignInApp;
  let branded: SignInApp;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-discovery-'));
    const logo = path.join(folder, 'logo.png');
    await writeFile(logo, await sampleImage({ width: 64, height: 64, format: 'png', seed: 1 }));
    app = await startSignInApp();
    const settings = { SITE_NAME: 'Bến "Cảng"', SITE_LOGO: logo, SITE_EDIT_URL: `${EDIT_URL}/` };
    branded = await startSignInApp({ brand: await loadBrand(readSettings(settings)) });
  });
  after(async () => {
    await app?.close();
    await branded?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const visit = async (url: string, language = 'en') =>
    load((await createBrowserSession().send(url, { headers: { 'accept-language': language } })).text);
  const tagsOf = ($: ReturnType<typeof load>) =>
    Object.fromEntries(
      $('meta[property]')
        .map((_, tag) => [[$(tag).attr('property'), $(tag).attr('content')]])
        .get(),
    );

  it('are a title, a sentence and a picture of each page that may be listed', async () => {
    for (const page of ['/', '/plans', '/models', '/docs', '/docs/quickstart']) {
      const $ = await visit(app.url + page);
      const tags = tagsOf($);
      expect($('title').text(), page).to.equal(`${tags['og:title']} · ${tags['og:site_name']}`);
      expect(tags['og:description'], page).to.equal($('meta[name=description]').attr('content'));
      const picture = await fetch(tags['og:image'] ?? '');
      const bytes = Buffer.from(await picture.arrayBuffer());
      expect([picture.status, picture.headers.get('content-type')], page).to.deep.equal([200, 'image/png']);
      expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)].map(String)).to.deep.equal([
        tags['og:image:width'],
        tags['og:image:height'],
      ]);
      expect(bytes.length).to.be.below(40_000);
    }
    expect(tagsOf(await visit(app.url, 'vi'))['og:locale']).to.equal('vi_VN');
    const error = await visit(`${app.url}/nowhere`);
    expect(tagsOf(error)).to.deep.equal({});
    expect(error('meta[name=robots]').attr('content')).to.equal('noindex');
  });

  it("are an operator's name and logo in place of those of mediagate", async () => {
    const tags = tagsOf(await visit(branded.url));
    expect(tags['og:site_name']).to.equal('Bến "Cảng"');
    const picture = await fetch(tags['og:image'] ?? '');
    expect(mediaTypeOf(Buffer.from(await picture.arrayBuffer()), 'image')?.contentType).to.equal('image/png');
    const { json: manifest } = await branded.request('/site.webmanifest');
    expect(manifest).to.include({ name: 'Bến "Cảng"', start_url: '/' });
    expect(manifest.icons.map(({ type }: { type: string }) => type)).to.deep.equal(['image/png']);
  });

  it('are a manifest whose icons exist, which public pages name', async () => {
    const $ = await visit(`${app.url}/plans`);
    const answer = await app.request($('link[rel=manifest]').attr('href') ?? '');
    expect(answer.headers.get('content-type')).to.equal('application/manifest+json');
    for (const { src, type } of answer.json.icons) {
      const icon = await app.request(src);
      expect([icon.status, icon.headers.get('content-type')?.split(';')[0]], src).to.deep.equal([200, type]);
    }
  });

  it('are rules that leave out the API and every page of an account, and no other', async () => {
    const { text, headers } = await app.request('/robots.txt');
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    const closed = [...text.matchAll(/^Disallow: (.+)$/gm)].map(([, rule = '']) => rule);
    const isClosed = (page: string) => closed.some((rule) => page.startsWith(rule));
    for (const page of ['/dashboard', '/keys', '/requests', '/images', '/pay/MG00000000', '/v1/models', '/api/user']) {
      expect(isClosed(page), page).to.equal(true);
    }
    for (const page of ['/', '/login', '/plans', '/setup', '/models', '/status', '/docs/quickstart', '/assets/x']) {
      expect(isClosed(page), page).to.equal(false);
    }
  });

  it('are links to edit the guides, where the operator has set an address', async () => {
    const edit = async (url: string) => (await visit(`${url}/docs/guides/images`))('a:contains("Edit this page")');
    expect((await edit(app.url)).length).to.equal(0);
    expect((await edit(branded.url)).attr('href')).to.equal(`${EDIT_URL}/guides/images.md`);
    expect((await visit(`${branded.url}/docs`))('a:contains("Edit this page")').length).to.equal(0);
  });
});
