/** Retrying a failed job by the API, the command and the console: the owner gets a further job at no cost. */

import { expect } from 'chai';
import { GatewayError } from '../../../core/runtime/errors.js';
import { inventedProduct, inventedShop, productLink } from '../../support/links/invented-shop.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type ConsoleApp, startConsoleApp } from '../console/console-app.js';

describe('retries of jobs by operators', () => {
  const failing = { yes: true };
  let its: ConsoleApp;
  let admin: string;
  let key: string;

  before(async () => {
    its = await startConsoleApp({
      plugins: [
        {
          use: inventedShop({
            extract: async ({ link }) => {
              if (failing.yes) throw new GatewayError('upstream_error', 'The source failed.');
              return inventedProduct(link.id);
            },
          }),
        },
      ],
    });
    admin = await its.app.makeKey({ grants: ['admin'] });
    key = await its.app.makeKey({ grants: ['extract'], rpm: 3 });
  });
  after(() => its?.app.close());

  async function failed(product: number): Promise<string> {
    failing.yes = true;
    const { json, text } = await its.app.extract(key, { url: productLink(product), async_mode: true });
    const id = json.data?.job?.job_id;
    expect(id, text).to.be.a('string');
    expect((await its.app.ended(key, id)).json.ok).to.equal(false);
    failing.yes = false;
    return id;
  }

  const send = (method: string, path: string, body?: object, token = admin) =>
    its.app.request(`/v1/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });

  it('give its owner a further job by the API, once', async () => {
    const id = await failed(1);
    expect((await send('GET', `/jobs/${id}`)).json).to.include({ retryable: true, retried_as: null });
    expect((await send('POST', `/jobs/${id}/retry`, {}, key)).status).to.equal(404);
    const made = await send('POST', `/jobs/${id}/retry`, { note: 'the source is back' });
    expect([made.status, made.json.retry_of], made.text).to.deep.equal([200, id]);
    const done = await its.app.ended(key, made.json.id);
    expect([done.json.ok, done.json.data.product.name]).to.deep.equal([true, 'Product 1']);
    const old = await send('GET', `/jobs/${id}`);
    expect(old.json).to.include({ state: 'failed', retryable: false, retried_as: made.json.id });
    expect(old.json.audit[0]).to.include({ action: 'job.retried', note: 'the source is back' });
    const again = await send('POST', `/jobs/${id}/retry`, {});
    expect([again.status, again.json.error.code]).to.deep.equal([409, 'job_not_retryable']);
    const ended = await send('POST', `/jobs/${made.json.id}/retry`, {});
    expect(ended.json.error.message).to.contain('This job has completed: only a failed job can be retried.');
    expect((await send('POST', `/jobs/exjob_${'0'.repeat(32)}/retry`, {})).json.error.code).to.equal('job_not_found');
  });

  it('are refused while the account is suspended', async () => {
    const [member] = await its.app.state.users.findByEmail('member@example.com');
    const ofMember = await its.app.makeKey({ grants: ['extract'] }, { accountId: member!.accountId });
    failing.yes = true;
    const { json } = await its.app.extract(ofMember, { url: productLink(9), async_mode: true });
    const id = json.data.job.job_id;
    await its.app.ended(ofMember, id);
    failing.yes = false;
    expect((await send('POST', `/users/${member!.id}/suspend`, {})).status).to.equal(200);
    const refused = await send('POST', `/jobs/${id}/retry`, {});
    expect([refused.status, refused.json.error.code]).to.deep.equal([409, 'job_not_retryable']);
    expect(refused.json.error.message).to.contain('account of this job is suspended');
    expect((await send('GET', `/jobs/${id}`)).json).to.include({ retryable: true, retried_as: null });
    expect((await send('POST', `/users/${member!.id}/resume`, {})).status).to.equal(200);
    expect((await send('POST', `/jobs/${id}/retry`, {})).status).to.equal(200);
  });

  it('are a command', async () => {
    const id = await failed(2);
    const environment = { DATA_DIR: '/nonexistent/mediagate', MEDIAGATE_KEY: admin };
    const args = ['--server', its.app.url, 'jobs', 'retry', id];
    const { code, stdout, stderr } = await runCommand([...args, '--json'], environment);
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.include({ retry_of: id, state: 'queued' });
    const again = await runCommand(args, environment);
    expect([again.code, again.stderr]).to.deep.equal([
      1,
      `mediagate: This job was retried already, as ${JSON.parse(stdout).id}.\n`,
    ]);
  });

  it('are a button of the console, which leads to the new job', async () => {
    const id = await failed(3);
    const path = `/admin/jobs/${id}`;
    const listed = (await its.read('/admin/jobs?state=failed')).page(`a[href="${path}"]`).closest('th');
    expect(listed.text()).to.contain('bazaar · 3');
    const { page } = await its.read(path);
    expect(page(`form[action="${path}/retry"]`)).to.have.length(1);
    const foreign = { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' };
    const refused = await its.operator.send(`${its.app.url}${path}/retry`, { form: {}, headers: foreign });
    expect(refused.status).to.equal(403);
    const { status, location } = await its.post(`${path}/retry`, { note: 'asked by the customer' });
    expect(status).to.equal(303);
    const made = await its.read(new URL(location ?? '').pathname + new URL(location ?? '').search);
    expect(made.page('.notice-good').text()).to.equal('The work is done again by this job.');
    expect(made.page(`a[href="${path}"]`)).to.have.length(1);
    const old = await its.read(path);
    expect(old.page(`form[action="${path}/retry"]`)).to.have.length(0);
    expect(old.text).to.contain('asked by the customer');
    const again = await its.post(`${path}/retry`);
    expect(again.status).to.equal(409);
    expect(again.page('.problem').text()).to.contain('retried already');
  });
});
