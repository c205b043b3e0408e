/** Items that the operator takes down: links, jobs of them, media and MP3 links, on a running gateway. */

import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const ITEM = 'https://www.youtube.com/watch?v=mgTest00001';

describe('blocked links', function () {
  this.timeout(60_000);
  let gateway: GatewayProcess;
  let key: string;

  before(async () => {
    gateway = await startGatewayProcess();
    ({ key } = await gateway.makeKey());
  });

  after(() => gateway?.stop());

  const codeOf = async (url: string) => (await gateway.extract(key, { url })).json.error?.code;
  const run = async (...args: string[]) => JSON.parse((await gateway.command('links', ...args, '--json')).stdout);

  it('are refused in every form of the link, also in batches, until they are let in again', async () => {
    const changed = await run('block', 'https://youtu.be/mgTest00001?si=x', '--note', 'notice of 3 May');
    expect(changed).to.deep.equal({ url: ITEM, blocked: true, changed: true });
    await until(async () => (await codeOf(ITEM)) === 'link_blocked');
    const { status, json } = await gateway.extract(key, { url: 'youtu.be/mgTest00001' });
    expect([status, json.error.code]).to.deep.equal([451, 'link_blocked']);
    const batch = await gateway.request('/v1/extract/batch', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ urls: [ITEM] }),
    });
    expect(batch.json.items[0].error.code).to.equal('link_blocked');

    const [listed] = await run('list');
    expect(listed).to.deep.include({ url: ITEM, note: 'notice of 3 May' });
    expect(await run('block', ITEM)).to.deep.equal({ url: ITEM, blocked: true, changed: false });
    expect(await run('unblock', ITEM)).to.deep.equal({ url: ITEM, blocked: false, changed: true });
    // It is asked for at the platform again, which cannot be reached from here.
    await until(async () => (await codeOf(ITEM)) !== 'link_blocked');
  });

  it('are given as links of items', async () => {
    for (const link of ['https://example.com/x', 'https://vm.tiktok.com/ZMabc/', 'nonsense']) {
      expect((await gateway.command('links', 'block', link)).code, link).to.equal(2);
    }
  });
});
