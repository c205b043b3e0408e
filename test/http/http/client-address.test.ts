/** The client address behind trusted and untrusted proxies. */

import { expect } from 'chai';
import { readSettings, SettingsError } from 'mediagate/server';
import { type ListeningApp, startApp } from './listening-app.js';

const LIMIT = 300;

describe('client address', () => {
  let app: ListeningApp | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  /** Refused keys until the limit of one address, each told to come from `forwarded`. */
  async function useUp(forwarded: (turn: number) => string): Promise<void> {
    for (let turn = 0; turn < LIMIT; turn += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, offset) => guess(forwarded(turn + offset))));
    }
  }

  async function guess(forwarded?: string): Promise<number> {
    const headers = { 'x-api-key': 'sk-mg-guess', ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) };
    return (await (app as ListeningApp).request('/v1/capabilities', { headers })).status;
  }

  it('uses the connection if no proxy is trusted, and ignores the header', async () => {
    app = await startApp();
    await useUp((turn) => `192.0.2.${turn % 250}`);
    expect(await guess('198.51.100.1')).to.equal(429);
  });

  it('uses the address that the trusted proxy added, and ignores earlier entries', async () => {
    app = await startApp({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
    await useUp((turn) => `203.0.113.${turn % 250}, 192.0.2.1`);
    expect(await guess('192.0.2.1')).to.equal(429);
    expect(await guess('198.51.100.7, 192.0.2.1, 10.1.2.3'), 'two trusted proxies in a row').to.equal(429);
    expect(await guess('192.0.2.1:4711'), 'with a port').to.equal(429);
    expect(await guess('::ffff:192.0.2.1'), 'as IPv6 writes it').to.equal(429);
    expect(await guess('192.0.2.2'), 'another client').to.equal(401);
    expect(await guess(), 'the proxy itself').to.equal(401);
  });

  it('uses the connection if it comes from an untrusted proxy', async () => {
    app = await startApp({ trustedProxies: ['10.0.0.0/8'] });
    await useUp((turn) => `192.0.2.${turn % 250}`);
    expect(await guess('198.51.100.1'), 'another name for the same client').to.equal(429);
    expect(await guess('10.1.2.3'), 'a proxy that is none').to.equal(429);
  });

  it('uses the connection or the last valid address if the header is invalid', async () => {
    app = await startApp({ trustedProxies: ['127.0.0.1', '::1'] });
    await useUp((turn) => (turn % 2 === 0 ? 'unknown' : `192.0.2.${turn % 250}, <script>`));
    expect(await guess('')).to.equal(429);
    expect(await guess('[2001:db8::1]:443')).to.equal(401);
  });

  it('is configured by addresses and networks', () => {
    const { trustedProxies } = readSettings({ TRUSTED_PROXIES: '10.0.0.7, 10.0.0.0/8, fd00::/8,::1' });
    expect(trustedProxies).to.deep.equal(['10.0.0.7', '10.0.0.0/8', 'fd00::/8', '::1']);
    for (const wrong of ['proxy.example', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0', '::1/129', 'fe80::1%eth0', '*']) {
      const read = () => readSettings({ TRUSTED_PROXIES: wrong });
      expect(read, wrong).to.throw(SettingsError, 'TRUSTED_PROXIES must be addresses or networks such as 10.0.0.7');
    }
  });
});
