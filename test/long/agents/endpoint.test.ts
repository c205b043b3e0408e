/**
 * The endpoint for agents under many clients: a thousand old ones, each with its handshake, leave no memory behind, and ten
 * thousand calls beyond the rate limit let none through.
 */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';

const SESSIONS = 1_000;
const AT_A_TIME = 20;
const CALLS = 10_000;
const RPM = 20;
const MEBIBYTE = 1024 * 1024;
/** What the garbage collector may leave for later. */
const MARGIN = 24 * MEBIBYTE;
const LINK = 'https://youtu.be/Tugs0fOst3n';

describe('the endpoint for agents under many clients', function () {
  this.timeout(600_000);
  let gateway: GatewayProcess;

  before(async () => {
    gateway = await startGatewayProcess({ environment: { WORKERS: '1' } });
  });
  after(() => gateway?.stop());

  function post(key: string, message: object, headers = {}) {
    return fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  }

  /** What a client of revision 2025-11-25 sends from its start to its first result. */
  async function session(key: string, name: string): Promise<void> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1.0.0' } };
    const greeted = await post(key, { id: 1, method: 'initialize', params });
    expect(greeted.headers.get('mcp-session-id')).to.equal(null);
    expect(await greeted.text()).to.contain('2025-11-25');
    const later = { 'mcp-protocol-version': '2025-11-25' };
    await (await post(key, { method: 'notifications/initialized' }, later)).text();
    const listed = await post(key, { id: 2, method: 'tools/list' }, later);
    expect(await listed.text()).to.contain('get_link_data');
    const called = await post(
      key,
      { id: 3, method: 'tools/call', params: { name: 'get_usage', arguments: {} } },
      later,
    );
    // The answers of get_usage have a rate limit of their own.
    const result = await called.text();
    expect(result, result).to.match(/structuredContent|rate_limit_exceeded/);
  }

  async function inTurns(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
    let next = 0;
    const one = async () => {
      for (let index = next++; index < count; index = next++) await work(index);
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, one));
  }

  async function residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024;
  }

  it(`keeps nothing of ${SESSIONS} clients with a handshake`, async () => {
    const { key } = await gateway.makeKey({ grants: ['extract'] });
    const work = (index: number) => session(key, `client ${index}`);
    // What the first clients load and compile stays.
    await inTurns(SESSIONS, work);
    const before = await residentBytes();
    await inTurns(SESSIONS, work);
    const grown = (await residentBytes()) - before;
    expect(grown, `${Math.round(grown / MEBIBYTE)} MiB`).to.be.below(MARGIN);
  });

  it(`lets none of ${CALLS} calls through beyond the rate limit`, async () => {
    const { key } = await gateway.makeKey({ grants: ['extract'], rpm: RPM });
    const begun = Date.now();
    const codes = new Map<string, number>();
    await inTurns(CALLS, async (index) => {
      const params = { name: 'get_link_data', arguments: { url: LINK } };
      const text = await (await post(key, { id: index, method: 'tools/call', params })).text();
      const [, code = 'admitted'] = /"code":"(\w+)"/.exec(text) ?? [];
      codes.set(code, (codes.get(code) ?? 0) + 1);
    });
    const minutes = Math.ceil((Date.now() - begun) / 60_000);
    const refused = codes.get('rate_limit_exceeded') ?? 0;
    const counts = JSON.stringify([...codes]);
    // A window may end in each minute of the test.
    expect(CALLS - refused, counts).to.be.within(RPM, RPM * (minutes + 1));
  });
});
