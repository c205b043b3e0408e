/** The local cluster of several nodes. */

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { type LocalCluster, startCluster } from '../../cluster/cluster.js';

/** What `npm run cluster` brings up, a little smaller. */
describe('the cluster of several nodes', () => {
  let folder: string;
  let cluster: LocalCluster | undefined;
  let key: string;

  before(async () => {
    folder = await mkdtemp('/tmp/mediagate-kept-');
    // Root's PostgreSQL runs as another user, who has to get there.
    await chmod(folder, 0o755);
    cluster = await startCluster({ apiNodes: 2, workerNodes: 1, folder: path.join(folder, 'stand') });
  });

  after(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('makes an image on a node without routes, and serves it behind one address', async () => {
    const [first] = cluster?.nodes ?? [];
    ({ key } = (await first?.process.makeKey({ grants: ['images', 'text'] })) ?? { key: '' });
    const [image] = await makeImage(key);
    expect(image.source).to.equal('objstore_s3');
    expect((await fetch(image.url)).status).to.equal(200);
  });

  it('keeps serving while one node is down', async () => {
    await cluster?.nodes[0]?.process.kill();
    for (let times = 0; times < 4; times += 1) {
      expect((await fetch(`${cluster?.url}/v1/models`, authorized(key))).status).to.equal(200);
    }
    expect(await makeImage(key)).to.have.length(1);
  });

  it('keeps its keys with `--keep`', async () => {
    await cluster?.stop();
    cluster = await startCluster({ apiNodes: 1, workerNodes: 0, folder: path.join(folder, 'stand') });
    expect((await fetch(`${cluster.url}/v1/models`, authorized(key))).status).to.equal(200);
  });

  async function makeImage(bearer: string) {
    const response = await fetch(`${cluster?.url}/v1/images/generations`, {
      method: 'POST',
      ...authorized(bearer),
      body: JSON.stringify({ model: 'gen-img-2', prompt: 'a lighthouse', size: '256x256' }),
    });
    const { data } = (await response.json()) as { data: { url: string; source: string }[] };
    return data as [{ url: string; source: string }];
  }
});

function authorized(key: string) {
  return { headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } };
}
