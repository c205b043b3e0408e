/** The pages of images without scripts: what is kept of a request, pages, other accounts, deletion. */

import { expect } from 'chai';
import sketchImage from 'mediagate/plugins/sketch_image';
import sharp from 'sharp';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { IMAGES } from '../../support/accounts/people.js';
import { imageModel, inventedImage, inventedModel, MODEL } from '../../support/images/invented-image.js';
import { until } from '../../support/until.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const HOSTILE = `"><script>alert(1)</script>`;

describe('pages of images', () => {
  let app: SignInApp;
  let ann: BrowserSession;
  let bob: BrowserSession;
  let accountId: string;

  before(async () => {
    app = await startSignInApp({
      plugins: [
        { use: inventedModel(inventedImage, [imageModel(MODEL, { takes: ['seed'] }), imageModel('gen-image-2')]) },
      ],
    });
    ann = await person('ann@example.com');
    accountId = (await app.state.users.list({ limit: 1 }))[0]!.accountId;
    bob = await person('bob@example.com');
  });
  after(() => app?.close());

  async function person(email: string): Promise<BrowserSession> {
    const browser = await app.signedIn(email);
    const user = (await app.state.users.list({ limit: 100 })).find((one) => one.email === email)!;
    const terms = { ...IMAGES, grants: ['images'] as const, rpm: null, imageDailyLimit: null };
    await app.state.accounts.grant({ accountId: user.accountId, terms, actor: 'operator:bob' });
    return browser;
  }

  const read = async (path: string, browser = ann) => (await browser.open(app.url + path)).text;

  async function make(prompt: string): Promise<string> {
    const json = { model: 'gen-image-2', prompt, seed: 7, size: '1536x1024' };
    const headers = { accept: 'application/json', 'sec-fetch-site': 'same-origin' };
    const { text } = await ann.send(`${app.url}/api/play/v1/images/jobs`, { json, headers });
    const { id } = JSON.parse(text);
    await until(async () => (await app.state.jobs.find(id, accountId))?.state === 'completed');
    return id;
  }

  const remove = (id: string, browser = ann) => browser.send(`${app.url}/images/delete`, { form: { id } });

  it('show the prompt and the settings of a job that has ended, as text', async () => {
    const id = await make(HOSTILE);
    for (const path of ['/images', `/images/${id}`, `/images?again=${id}`]) {
      const text = await read(path);
      expect(text, path).to.contain('&quot;&gt;&lt;script&gt;').and.not.contain(HOSTILE);
      expect(text, path).to.contain('1536 × 1024');
      expect(Buffer.byteLength(text)).to.be.below(80_000);
    }
    expect(await read(`/images/${id}`)).to.contain(`<dt>Model</dt><dd>${MODEL}</dd>`);
    expect(await read(`/images?reference=${id}`)).to.contain('data-reference="/v1/images/files/');
  });

  it('list small pictures, which end with their image, for people who are signed in', async () => {
    const id = await make('A small picture');
    const card = (await read('/images')).split(`id="${id}"`)[1] ?? '';
    const [, thumbnail = '', width = ''] = /<img src="([^"]+)" alt="" width="(\d+)"/.exec(card) ?? [];
    expect(width).to.equal('1536');
    const cookie = `mediagate=${ann.cookie(app.url, 'mediagate')}`;
    const load = () => fetch(app.url + thumbnail, { headers: { cookie }, redirect: 'manual' });
    const answers = await Promise.all([load(), load(), load()]);
    const bodies = await Promise.all(answers.map(async (answer) => Buffer.from(await answer.arrayBuffer())));
    for (const [index, answer] of answers.entries()) {
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'image/webp']);
      expect(answer.headers.get('cache-control')).to.equal('private, max-age=86400, immutable');
      const { width: wide, height } = await sharp(bodies[index]).metadata();
      expect([wide, height]).to.deep.equal([640, 427]);
    }
    expect((await fetch(app.url + thumbnail, { redirect: 'manual' })).status).to.be.oneOf([303, 401]);
    for (const name of ['img_0123456789abcdef.png', '..%2Fsecret.png', 'x']) {
      const answer = await fetch(`${app.url}/images/thumbnails/${name}`, { headers: { cookie }, redirect: 'manual' });
      expect(answer.status, name).to.equal(404);
    }
    await remove(id);
    expect((await load()).status).to.be.oneOf([404, 410]);
  });

  it('have a line on the dashboard each, with its prompt, its size and a smaller picture', async () => {
    const id = await make(HOSTILE);
    const page = await read('/dashboard');
    expect(page).to.contain(`<a href="/images/${id}"><bdi>&quot;&gt;&lt;script&gt;`).and.not.contain(HOSTILE);
    expect(page).to.contain('1536 × 1024').and.contain(`title="${id}"`);
    const [, picture = ''] = /<img class="job-picture" src="([^"]+)" alt="" width="44" height="44"/.exec(page) ?? [];
    const cookie = `mediagate=${ann.cookie(app.url, 'mediagate')}`;
    const answer = await fetch(app.url + picture, { headers: { cookie } });
    const { width, height } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
    expect([answer.headers.get('content-type'), width, height]).to.deep.equal(['image/webp', 96, 64]);
    expect(await read('/dashboard', bob)).not.to.contain(id);
    await remove(id);
  });

  it('offer a seed to a model that uses one, and to no other', async () => {
    const page = await read('/images');
    expect(page).to.match(/<option value="[^"]+"[^>]* data-takes-seed>/);
    expect(page).to.contain('<div class="field" id="image-seed-field">');
    const other = await startSignInApp({ plugins: [{ use: sketchImage }] });
    const browser = await other.signedIn('cleo@example.com');
    const { text } = await browser.open(`${other.url}/images`);
    expect(text).to.contain('<div class="field" id="image-seed-field" hidden>').and.not.contain('data-takes-seed');
    await other.close();
  });

  it('keep no prompt of a job that an API client submitted', async () => {
    const { text } = await ann.send(`${app.url}/api/user`, {
      json: { name: 'laptop' },
      headers: { accept: 'application/json', 'sec-fetch-site': 'same-origin' },
    });
    const answer = await fetch(`${app.url}/v1/images/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${JSON.parse(text).apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, prompt: 'A secret of the client' }),
    });
    const { id } = (await answer.json()) as { id: string };
    await until(async () => (await app.state.jobs.find(id, accountId))?.state === 'completed');
    const page = await read(`/images/${id}`);
    expect(page).to.contain('The prompt is not kept.').and.not.contain('A secret of the client');
    const [job] = await app.state.jobs.latest(accountId, 1);
    expect(JSON.stringify(job)).not.to.contain('A secret of the client');
    await remove(id);
  });

  it('have 24 images each, and miss none', async () => {
    for (let made = 0; made < 25; made += 1) await make(`Image ${made}`);
    const seen: string[] = [];
    for (let path: string | undefined = '/images'; path !== undefined; ) {
      const text: string = await read(path);
      const ids = [...text.matchAll(/<li class="card image-card" id="(\w+)"/g)].map(([, id = '']) => id);
      expect(ids.length).to.be.at.most(24);
      expect(Buffer.byteLength(text)).to.be.below(80_000);
      seen.push(...ids);
      path = /<a [^>]*href="([^"]+)" rel="next"/.exec(text)?.[1];
    }
    expect(new Set(seen).size).to.equal(26);
    expect(seen).to.have.length(26);
  });

  it('neither show nor delete an image of another account', async () => {
    const [job] = await app.state.jobs.latest(accountId, 1);
    const id = job!.id;
    expect(await read('/images', bob)).to.contain('No images yet');
    expect((await bob.open(`${app.url}/images/${id}`)).status).to.equal(404);
    expect(await read(`/images?again=${id}`, bob)).not.to.contain('Image 24');
    expect((await remove(id, bob)).status).to.equal(404);
    expect(await read(`/images/${id}`)).to.contain('Image 24');
  });

  it('delete an image with its files', async () => {
    const [job] = await app.state.jobs.latest(accountId, 1);
    const id = job!.id;
    const [, src = ''] = /<img src="([^"]+)"/.exec(await read(`/images/${id}`)) ?? [];
    expect((await fetch(app.url + src)).status).to.equal(200);
    expect((await remove(id)).status).to.be.oneOf([200, 303]);
    expect((await ann.open(`${app.url}/images/${id}`)).status).to.equal(404);
    expect((await fetch(app.url + src)).status).to.be.oneOf([404, 410]);
    expect((await remove(id)).status).to.equal(404);
  });

  it('are in Vietnamese, and send visitors to the sign-in', async () => {
    ann.setCookie(app.url, 'language', 'vi');
    expect(await read('/images'))
      .to.contain('Ảnh của bạn')
      .and.contain('Tải xuống')
      .and.not.contain('Your images');
    const visitor = await fetch(`${app.url}/images`, { redirect: 'manual' });
    expect([visitor.status, visitor.headers.get('location')]).to.deep.equal([303, '/login?return_to=%2Fimages']);
  });
});
