/** An agent of the AI SDK: its client of the protocol lists the tools, and its loop calls them as the model wants. */

import { createMCPClient, type MCPClient } from '@ai-sdk/mcp';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs } from 'ai';
import { expect } from 'chai';
import { type AgentSite, LAST_WORDS, startAgentSite, VIDEO } from '../../support/agents/agent-site.js';

describe('an agent of another SDK', function () {
  this.timeout(60_000);
  let site: AgentSite;
  let client: MCPClient | undefined;

  before(async () => {
    site = await startAgentSite([
      ['get_link_data', { url: VIDEO }],
      ['ask_link', { url: VIDEO, question: 'What is it about?' }],
      ['generate_image', { prompt: 'A tug at dawn', size: '1024x1024' }],
    ]);
  });
  after(async () => {
    await client?.close();
    await site?.close();
  });

  it('calls the tools in a loop until the model has its last words', async () => {
    const { url, apiKey } = site.gateway;
    const headers = { Authorization: `Bearer ${apiKey}` };
    client = await createMCPClient({ transport: { type: 'http', url: `${url}/mcp`, headers } });
    const provider = createOpenAI({ apiKey, baseURL: `${url}/v1` });
    const { text, steps } = await generateText({
      model: provider.responses('m-5.5'),
      // biome-ignore lint/suspicious/noExplicitAny: the two packages are compiled with other options
      tools: (await client.tools()) as any,
      stopWhen: stepCountIs(6),
      prompt: 'What does the video say? Draw it.',
    });
    expect(text).to.equal(LAST_WORDS);
    const called = steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName));
    expect(called).to.deep.equal(['get_link_data', 'ask_link', 'generate_image']);
    const [data = '', answer = '', picture = ''] = site.outputs();
    expect(data).to.contain('A morning on the Ostend tugs');
    expect(answer).to.contain('It is about tugs.');
    expect(picture).to.contain('/v1/images/files/');
  });
});
