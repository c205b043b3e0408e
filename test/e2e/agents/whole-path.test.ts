/**
 * The whole path of a person with an agent, as docs/guides/agents.md has it: connect by the address alone, sign in, choose
 * what the agent may do, ask what a video says, get a picture, see it in the usage, disconnect.
 */

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { expect } from 'chai';
import { connectAgent } from '../../http/identity/agent.js';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { type AgentSite, startAgentSite, VIDEO } from '../../support/agents/agent-site.js';
import { createGatewayClient } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

describe('a person with an agent', function () {
  this.timeout(60_000);
  let site: AgentSite;
  let browser: BrowserSession;
  let client: Client | undefined;

  before(async () => {
    site = await startAgentSite([]);
  });
  after(async () => {
    await client?.close();
    await site?.close();
  });

  // biome-ignore lint/suspicious/noExplicitAny: results of many shapes
  async function call(name: string, input: Record<string, unknown>): Promise<any> {
    const result = await client?.callTool({ name, arguments: input });
    expect(result?.isError, JSON.stringify(result)).to.not.equal(true);
    return result?.structuredContent;
  }

  it('connects by the address alone', async () => {
    browser = await site.signIn('ann@example.com');
    ({ client } = await connectAgent(createGatewayClient(site.gateway.url), browser));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).to.include.members(['get_link_data', 'ask_link', 'generate_image']);
  });

  it('asks what a video says', async () => {
    const { data } = await call('get_link_data', { url: VIDEO, fields: ['common', 'transcript'] });
    expect(data.common.title).to.equal('A morning on the Ostend tugs');
    const { answer, claims } = await call('ask_link', { url: VIDEO, question: 'What is it about?' });
    expect(answer).to.equal('It is about tugs.');
    expect(claims).to.deep.equal([{ text: 'Tugs.', field: 'common.title' }]);
  });

  it('gets a picture at an address of its own', async () => {
    const { data } = await call('generate_image', { prompt: 'A tug at dawn', size: '1024x1024' });
    const file = await fetch(data[0].url);
    expect([file.status, file.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
  });

  it('sees the calls in the usage, and ends the access', async () => {
    // Counts are written within two seconds.
    const routes = await until(async () => {
      const { usage } = await call('get_usage', { by: 'route' });
      const names: string[] = usage.data.map(({ name }: { name: string }) => name);
      return names.includes('/v1/extract') && names;
    }, 500);
    expect(routes).to.include.members(['/v1/chat/completions', '/v1/images/jobs']);
    const { url } = site.gateway;
    const { agents } = JSON.parse((await browser.send(`${url}/api/user/agents`)).text);
    const page = await browser.send(`${url}/dashboard`);
    expect(page.text).to.contain('Shipyard agent').and.to.contain('Make and edit images');
    await browser.send(`${url}/agents/${agents[0].id}/disconnect`, { form: {} });
    const refused = await client?.callTool({ name: 'get_usage', arguments: {} }).catch((error: Error) => error.message);
    expect(String(refused)).to.match(/401|Unauthorized|invalid/i);
  });
});
