/** The page of a model in the console: its forms change it, say what they do, and can be taken back. */

import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import { createLivePrices } from '../../../server/prices/index.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { post } from '../models/text-app.js';
import { type ConsoleApp, startConsoleApp } from './console-app.js';

describe('the page of a model in the console', () => {
  let its: ConsoleApp;
  let fast: TextUpstream;
  let spare: TextUpstream;
  let key: string;

  before(async () => {
    [fast, spare] = await Promise.all([startTextUpstream(), startTextUpstream()]);
    const upstreams = [
      { name: 'fast', url: fast.baseUrl },
      { name: 'spare', url: spare.baseUrl },
    ];
    its = await startConsoleApp({
      plugins: [{ use: openaiText, options: { models: [{ id: 'm-one' }], upstreams } }],
      livePrices: createLivePrices({
        currency: 'USD',
        models: { 'm-one': { input: 1, output: 4, tiers: [{ above: 200_000, input: 2 }] } },
      }),
      gateway: { services: { http: undefined }, trustedOrigins: [new URL(spare.baseUrl).origin] },
    });
    key = await its.app.makeKey({ grants: ['text'] });
  });
  after(() => Promise.all([its?.app.close(), fast?.close(), spare?.close()]));

  const chat = (model: string) =>
    post(its.app, '/v1/chat/completions', key, { model, messages: [{ role: 'user', content: 'Hello.' }] });

  it('switches it off and on', async () => {
    const list = await its.read('/admin/models');
    expect(list.page('a[href="/admin/models/m-one"]').text()).to.equal('m-one');
    // None was used, so their fold is open.
    expect(list.page('details.unused[open] > summary').text()).to.equal('Not used in 7 days (1)');
    const { page } = await its.read('/admin/models/m-one');
    expect(page('form[action="/admin/models/m-one/switch"]').text()).to.contain('refused with the reason');
    const off = await its.post('/admin/models/m-one/switch', { on: 'no', note: 'too dear' });
    expect([off.status, off.location]).to.deep.equal([303, `${its.app.url}/admin/models/m-one?done=model_off`]);
    expect((await chat('m-one')).json.error.code).to.equal('model_not_supported');
    const after = await its.read('/admin/models/m-one?done=model_off');
    expect(after.page('.console-facts').text()).to.contain('Switched off here');
    expect(after.page('main').text()).to.contain('too dear');
    await its.post('/admin/models/m-one/switch', { on: 'yes' });
    expect((await chat('m-one')).status).to.equal(200);
    expect((await its.read('/admin/audit')).page('a[href="/admin/models/m-one"]').length).to.be.greaterThan(0);
  });

  it('weighs its servers, keeps a mistake in the form, and takes weights back', async () => {
    const wrong = await its.post('/admin/models/m-one/weights', { weight_fast: 'much', weight_spare: '1' });
    expect([wrong.status, wrong.page('#weight_fast').val()]).to.deep.equal([400, 'much']);
    expect((await its.post('/admin/models/m-one/weights', { weight_fast: '0', weight_spare: '2' })).status).to.equal(
      303,
    );
    const before = spare.requests.length;
    for (let index = 0; index < 3; index++) await chat('m-one');
    expect(spare.requests.length - before).to.equal(3);
    const { page } = await its.read('/admin/models/m-one');
    expect(page('#weight_spare').val()).to.equal('2');
    expect((await its.post('/admin/models/m-one/weights', { configured: 'yes' })).status).to.equal(303);
    expect((await its.read('/admin/models/m-one')).page('#weight_spare').val()).to.equal('1');
  });

  it('sets its prices, asks where a price may be a mistake, and leaves its other prices', async () => {
    const form = {
      price_input: '20',
      price_cachedInput: '',
      price_cacheWrite: '',
      price_output: '4',
      price_webSearch: '',
    };
    const jump = await its.post('/admin/models/m-one/prices', form);
    expect(jump.status).to.equal(400);
    expect(jump.page('[role=alert]').text()).to.contain('input would be 20 in place of 1');
    expect(jump.page('#price_input').val()).to.equal('20');
    expect(jump.page('input[name=accept]').length).to.equal(1);
    expect((await its.post('/admin/models/m-one/prices', { ...form, price_input: '2,5' })).status).to.equal(400);
    expect((await its.post('/admin/models/m-one/prices', { ...form, accept: 'yes' })).status).to.equal(303);
    const [stored] = await its.app.state.changedModels.list();
    expect(stored?.prices).to.deep.equal({ input: 20, output: 4, tiers: [{ above: 200_000, input: 2 }] });
    expect((await its.read('/admin/models/m-one')).page('#prices').closest('section').text()).to.contain('$20');
    await its.post('/admin/models/m-one/prices', { configured: 'yes' });
    expect((await its.app.state.changedModels.list())[0]?.prices).to.equal(undefined);
  });

  it('adds a model whose key is never shown, changes its server, and removes it', async () => {
    const form = { id: 'team/one', url: spare.baseUrl, format: 'openai', model: 'm-one', key: 'sk-never-shown' };
    const refused = await its.post('/admin/models', { ...form, url: 'http://10.0.0.1/v1' });
    expect([refused.status, refused.page('#new-url').val()]).to.deep.equal([400, 'http://10.0.0.1/v1']);
    expect(refused.text).to.not.contain('sk-never-shown');
    expect((await its.post('/admin/models', { ...form, id: 'two words' })).status).to.equal(400);
    const added = await its.post('/admin/models', form);
    expect([added.status, added.location]).to.deep.equal([
      303,
      `${its.app.url}/admin/models/team%2Fone?done=model_added`,
    ]);
    expect((await chat('team/one')).status).to.equal(200);
    const shown = await its.read('/admin/models/team%2Fone');
    expect(shown.status).to.equal(200);
    expect(shown.text).to.not.contain('sk-never-shown');
    expect((await its.post('/admin/models/team%2Fone/server', { ...form, key: 'sk-second' })).status).to.equal(303);
    await chat('team/one');
    expect(spare.requests.at(-1)?.headers.authorization).to.equal('Bearer sk-second');
    const removed = await its.post('/admin/models/team%2Fone/remove', { note: 'not needed' });
    expect(removed.location).to.equal(`${its.app.url}/admin/models?done=model_removed`);
    expect((await chat('team/one')).json.error.code).to.equal('model_not_found');
    expect((await its.read('/admin/models/none')).status).to.equal(400);
  });
});
