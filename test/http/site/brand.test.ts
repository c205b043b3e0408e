/** An operator's own site: its name, logo, colours and links on every page, and the settings that are refused. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { readSettings, SettingsError } from 'mediagate/server';
import { contrastOf, mixColours } from '../../../server/format/index.js';
import { BrandError, loadBrand } from '../../../server/site/index.js';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8H0z"/></svg>';
const ACCENT = '#1d4ed8';
/** Only where the visitor hosts the gateway. */
const FOR_HOSTS =
  /that you host|your own gateway|self-hosted|chạy trên máy chủ của bạn|tự vận hành|Cổng API của riêng bạn/i;

describe("an operator's own site", () => {
  let folder: string;
  let app: SignInApp;
  let settings: Parameters<typeof loadBrand>[0];

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-brand-'));
    const logo = path.join(folder, 'logo.svg');
    await writeFile(logo, LOGO);
    settings = readSettings({
      SITE_NAME: 'Bến Cảng <AI>',
      SITE_LOGO: logo,
      SITE_ACCENT: ACCENT,
      SITE_TERMS_URL: 'https://harbour.example/terms',
      SITE_PRIVACY_URL: 'https://harbour.example/privacy',
      SITE_SUPPORT: 'help@harbour.example',
      SITE_FOOTER: 'Công ty Bến Cảng, Hải Phòng',
    });
    app = await startSignInApp({ brand: await loadBrand(settings) });
  });
  after(async () => {
    await app?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const visit = async (url: string, language = 'en') =>
    (await createBrowserSession().send(url, { headers: { 'accept-language': language } })).text;

  it('has its name, logo, colour and links on every page, in both languages', async () => {
    for (const language of ['en', 'vi']) {
      for (const page of ['/', '/login', '/plans', '/setup', '/models', '/docs', '/nowhere']) {
        const text = await visit(app.url + page, language);
        expect(text, page)
          .to.contain('· Bến Cảng &lt;AI&gt;</title>')
          .and.to.contain('<span>Bến Cảng &lt;AI&gt;</span>');
        expect(text, page).to.match(/<img class="brand-logo" src="\/brand\/[0-9a-f]{12}\/logo"/);
        expect(text, page).to.match(/<link rel="stylesheet" href="\/brand\/[0-9a-f]{12}\/accent.css">/);
        for (const link of [
          'https://harbour.example/terms',
          'https://harbour.example/privacy',
          'mailto:help@harbour.example',
        ])
          expect(text, page).to.contain(`<a href="${link}">`);
        expect(text, page).to.contain('Công ty Bến Cảng, Hải Phòng');
        const shown = page === '/docs' ? text.slice(text.indexOf('<footer')) : text;
        expect(shown, page).not.to.match(FOR_HOSTS).and.not.to.contain('>mediagate<');
      }
    }
    expect(await visit(`${app.url}/login`)).to.contain(
      'By signing in you accept the <a href="https://harbour.example/terms">',
    );
    expect(await visit(`${app.url}/nowhere`)).to.contain('<a href="mailto:help@harbour.example">Support</a></div>');
  });

  it('says to visitors of a gateway without one that they host it', async () => {
    const plain = await startSignInApp({ brand: await loadBrand(readSettings({})) });
    for (const language of ['en', 'vi']) expect(await visit(plain.url, language)).to.match(FOR_HOSTS);
    await plain.close();
  });

  it('serves logo and colours from files that browsers keep, and a logo that runs nothing', async () => {
    const text = await visit(app.url);
    const [, logo = '', accent = ''] = [/ $/, /src="(\/brand\/[^"]+)"/, /href="(\/brand\/[^"]+css)"/].map(
      (pattern) => pattern.exec(text)?.[1] ?? '',
    );
    const picture = await app.request(logo);
    expect([picture.status, picture.headers.get('content-type'), picture.text]).to.deep.equal([
      200,
      'image/svg+xml',
      LOGO,
    ]);
    expect(picture.headers.get('content-security-policy')).to.contain("default-src 'none'").and.to.contain('sandbox');
    expect(picture.headers.get('cache-control')).to.contain('immutable');
    const styles = await app.request(accent);
    expect(styles.headers.get('content-type')).to.equal('text/css; charset=utf-8');
    expect(styles.text).to.contain(`--accent: ${ACCENT};`);
    expect((await app.request('/brand/000000000000/logo')).headers.get('cache-control')).to.equal('no-cache');
    expect((await app.request('/brand/000000000000/other')).json.error.code).to.equal('file_not_found');
  });

  it('has colours with enough contrast on light and dark pages, whatever the accent', async () => {
    for (const accent of ['#1d4ed8', '#000000', '#6b21a8', '#9a3412', '#7a4b00', '#00008b', '#b91c1c']) {
      const brand = await loadBrand(readSettings({ SITE_ACCENT: accent }));
      const [light = '', dark = ''] = String(brand.files.get('accent.css')?.bytes).split('@media');
      for (const [styles, grounds] of [
        [light, ['#ffffff', '#faf9f6', '#f2f1ec']],
        [dark, ['#1b1c19', '#131412', '#0d0e0c']],
      ] as const) {
        const value = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(styles)?.[1] ?? '';
        for (const ground of [...grounds, value('accent-soft')]) {
          expect(contrastOf(value('accent'), ground), `${accent} on ${ground}`).to.be.at.least(4.5);
        }
        for (const name of ['accent', 'accent-strong']) {
          expect(contrastOf(value(name), value('on-accent')), `${accent} ${name}`).to.be.at.least(4.5);
        }
      }
    }
    expect([contrastOf('#000000', '#ffffff'), mixColours('#000000', '#ffffff', 0.5)]).to.deep.equal([21, '#808080']);
  });

  it('may have no home page', async () => {
    const hidden = await startSignInApp({ brand: await loadBrand(readSettings({ SITE_HOME: 'off' })) });
    expect((await createBrowserSession().send(`${hidden.url}/`)).location).to.equal(`${hidden.url}/login`);
    const ann = await hidden.signedIn('ann@example.com');
    expect((await ann.send(`${hidden.url}/`)).location).to.equal(`${hidden.url}/dashboard`);
    await hidden.close();
  });

  it('refuses settings that people could not read or follow', async () => {
    const refused = (environment: Record<string, string>, message: string) =>
      expect(() => readSettings(environment), JSON.stringify(environment)).to.throw(SettingsError, message);
    refused({ SITE_ACCENT: 'green' }, 'SITE_ACCENT must be a colour such as #0b6b4a');
    refused(
      { SITE_ACCENT: '#63d3a3' },
      'SITE_ACCENT must be a darker colour: its contrast to light pages must be at least 4.5, and is 1.',
    );
    refused({ SITE_NAME: 'x'.repeat(41) }, 'SITE_NAME must be a text of 1 to 40 visible characters');
    refused({ SITE_NAME: 'a\u200bb' }, 'SITE_NAME');
    refused({ SITE_TERMS_URL: 'javascript:alert(1)' }, 'SITE_TERMS_URL must be a URL that begins with https://');
    refused({ SITE_SUPPORT: 'somewhere' }, 'SITE_SUPPORT must be an email address');
    refused({ SITE_SUPPORT: 'javascript://x@y' }, 'SITE_SUPPORT');
    refused({ SITE_HOME: 'no' }, 'SITE_HOME must be one of on, off');
    for (const [name, bytes, message] of [
      ['logo.gif', 'GIF89a', 'ends with .svg, .png or .webp'],
      ['empty.svg', '', 'must have 1 to 200000 bytes'],
      ['large.png', 'x'.repeat(200_001), 'must have 1 to 200000 bytes'],
    ] as const) {
      await writeFile(path.join(folder, name), bytes);
      const error = await loadBrand({ siteLogo: path.join(folder, name) }).catch((thrown: unknown) => thrown);
      expect(error, name).to.be.instanceOf(BrandError).with.property('message').that.contains(message);
    }
    const missing = await loadBrand({ siteLogo: path.join(folder, 'none.svg') }).catch((thrown: unknown) => thrown);
    expect(missing).to.be.instanceOf(BrandError).with.property('message').that.contains('ENOENT');
  });
});
