/** A running gateway with files in an object store. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { type ObjectProxy, startObjectProxy } from '../../support/storage/object-proxy.js';
import { type ObjectServer, startObjectServer } from '../../support/storage/object-server.js';

describe('a gateway with files in an object store', () => {
  let server: ObjectServer;
  let proxy: ObjectProxy;
  let gateway: GatewayProcess | undefined;

  before(async () => {
    server = await startObjectServer();
    proxy = await startObjectProxy(server);
  });
  after(async () => {
    await proxy.close();
    await server.stop();
  });
  afterEach(async () => {
    proxy.setFault();
    await gateway?.stop();
    gateway = undefined;
  });

  async function start(): Promise<GatewayProcess> {
    gateway = await startGatewayProcess({ environment: { FILES_URL: proxy.filesUrl('e2e') } });
    return gateway;
  }

  it('reports that the store answers, and tests it with doctor', async () => {
    const { request, command } = await start();
    const { json } = await request('/health');
    expect(json.checks.files).to.include({ ok: true });
    const { stdout } = await command('doctor');
    expect(stdout).to.match(/ok +files +the object store takes and gives them/);
    const left = proxy.requests.filter(({ key, method }) => key.includes('e2e/doctor-') && method === 'DELETE');
    expect(left).to.have.length(1);
  });

  it('starts and serves while the store is unavailable, and reports it without the secret', async () => {
    proxy.setFault(() => 403);
    const { request, command, output } = await start();
    const { json } = await request('/health');
    expect(json).to.include({ ok: true, status: 'degraded' });
    expect(json.checks.files).to.include({ ok: false });
    expect((await request('/health/ready')).status).to.equal(200);
    const { code, stdout, stderr } = await command('doctor');
    expect(code).to.equal(1);
    expect(stdout).to.match(/fail +files +The object store answered 403 Injected\.\n +Check FILES_URL/);
    for (const secret of [proxy.secret, encodeURIComponent(proxy.secret)]) {
      expect(stdout + stderr + output()).not.to.contain(secret);
    }
  });

  async function makePicture({ makeKey, request }: GatewayProcess): Promise<{ source: string; path: string }> {
    const { key } = await makeKey({ grants: ['images'] });
    const body = JSON.stringify({ model: 'gen-img-2', prompt: 'A tug at dawn', size: '256x256' });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const { json, text } = await request('/v1/images/generations', { method: 'POST', headers, body });
    expect(json.succeeded, text).to.equal(1);
    const [{ source, url }] = json.data;
    return { source, path: new URL(url).pathname };
  }

  it('returns no file of a wrong length if the store changes it', async () => {
    const running = await start();
    const { path } = await makePicture(running);
    const length = (await running.request(path)).headers.get('content-length');
    for (const body of ['short', 'x'.repeat(Number(length) + 1_000)]) {
      const sha256 = createHash('sha256').update(body).digest('hex');
      const size = String(body.length);
      const kept = { 'x-amz-meta-sha256': sha256, 'x-amz-meta-size': size, 'x-amz-meta-modified-at': '1' };
      const headers = { ...kept, 'content-type': 'image/png', 'content-length': size };
      proxy.setFault(({ method }) => (method === 'GET' ? { status: 200, headers, body } : undefined));
      const { status, json } = await running.request(path);
      expect([status, json.error.code]).to.deep.equal([503, 'upstream_unavailable']);
      proxy.setFault();
      expect((await running.request(path)).headers.get('content-length')).to.equal(length);
    }
  });

  it('reports for each image whether it is in the store or on this disk', async () => {
    const running = await start();
    const picture = async () => {
      const { source, path } = await makePicture(running);
      expect((await running.request(path)).status).to.equal(200);
      return source;
    };
    expect(await picture()).to.equal('objstore_s3');
    proxy.setFault(({ method }) => (method === 'PUT' ? 503 : undefined));
    expect(await picture()).to.equal('local_cache');
  });

  it('reports in doctor that the store accepts no file', async () => {
    proxy.setFault(({ method }) => (method === 'PUT' ? 403 : undefined));
    const { command } = await start();
    const { code, stdout } = await command('doctor');
    expect(code).to.equal(1);
    expect(stdout).to.match(/fail +files +the object store answers, and does not take a file/);
  });
});
