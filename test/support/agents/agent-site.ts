/**
 * A real gateway for agents: recorded links, the built-in models of images and speech, and a text model that plays a
 * written part. It calls the tools of the agent one after the other, in whatever names the program gives them, then says
 * its last words. A question without tools, as `ask_link` sends it, gets an answer with a source.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readPluginConfig, type TextCall } from 'mediagate';
import { openReplayServer, type ReplayServer } from 'mediagate/testing/server';
import { fixturesOf, linkSamples, videoSample } from '../../demo/link-samples.js';
import { type BrowserSession, createBrowserSession } from '../accounts/browser-session.js';
import { type Script, type ScriptedText, scriptedText } from '../models/scripted-text.js';
import { answerTo, inputOf } from '../models/text-answer.js';
import { chatCompletion } from '../models/text-chat-format.js';
import { streamContent } from '../models/text-delivery.js';
import { finalStatus, responseObject, responsesEvents } from '../models/text-responses-format.js';
import { packageRoot } from '../package-root.js';

/** The link that agents ask about. */
export const VIDEO = videoSample.url;
/** Last words of the model. */
export const LAST_WORDS = 'The video is about tugs, and the picture is ready.';
const ANSWERED = { answer: 'It is about tugs.', claims: [{ text: 'Tugs.', field: 'common.title' }] };

/** Programs name themselves by documents of their makers, which are elsewhere: these have the same fields. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  'https://chatgpt.com/oauth/codex/client.json': 'Codex',
  'https://claude.ai/oauth/claude-code-client-metadata': 'Claude Code',
};
const documents = Object.entries(DOCUMENTS).map(([url, name]) => ({
  request: { method: 'GET', url },
  response: {
    status: 200,
    headers: { 'content-type': 'application/json' },
    text: JSON.stringify({
      client_id: url,
      client_name: name,
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
    }),
  },
}));

const PLANS = { plans: [], freeTier: { grants: ['extract', 'images'], modelAccess: ['m-5.5', 'gen-img-2'] } };

/** A tool of the gateway and its arguments. */
export type Turn = readonly [tool: string, input: Readonly<Record<string, unknown>>];

export interface AgentSite {
  readonly gateway: ReplayServer;
  readonly model: ScriptedText;
  /** What the tools returned to the model, in the order of the turns. */
  outputs(): string[];
  /** A browser in which somebody is signed in. */
  signIn(email: string): Promise<BrowserSession>;
  close(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of any client
type Members = Record<string, any>;

export async function startAgentSite(turns: readonly Turn[]): Promise<AgentSite> {
  const bodies: Members[] = [];
  const model = scriptedText(
    (call) => {
      const body = readBody(call);
      bodies.push(body);
      return play(body, turns, bodies.length);
    },
    { models: [{ id: 'm-5.5', routes: ['responses', 'chat_completions'], efforts: ['low', 'medium', 'high'] }] },
  );
  const plugins = await readPluginConfig(path.join(packageRoot, 'plugins.config.json'), {});
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-agent-site-'));
  const plansFile = path.join(folder, 'plans.json');
  await writeFile(plansFile, JSON.stringify(PLANS));
  const gateway = await openReplayServer({
    plugin: model.plugin,
    plugins: plugins.filter(({ use }) => !String(use).endsWith('echo_text')),
    fixtures: [...documents, ...fixturesOf(linkSamples)],
    settings: { MESSAGES_ENABLED: 'true', PLANS_FILE: plansFile },
  });
  return {
    gateway,
    model,
    outputs() {
      const longest = bodies
        .map((body) => outputsIn(body, turns))
        .reduce((best, one) => (one.length > best.length ? one : best), []);
      return longest.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    },
    async signIn(email) {
      const browser = createBrowserSession();
      const page = await browser.open(`${gateway.url}/signin`);
      const { location } = await browser.send(page.url, { form: { email, name: '', action: 'sign-in' } });
      await browser.open(location ?? '');
      return browser;
    },
    async close() {
      await gateway.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function readBody({ body }: TextCall): Members {
  return JSON.parse(Buffer.from(body as Uint8Array).toString()) as Members;
}

/** What the tools of the turns have returned so far. */
function outputsIn(body: Members, turns: readonly Turn[]): unknown[] {
  const items = inputOf(body) as Members[];
  const calls = items.filter(
    ({ type, name }) => type === 'function_call' && turns.some(([tool]) => name.endsWith(tool)),
  );
  const ids = new Set(calls.map(({ call_id: id }) => id));
  return items
    .filter(({ type, call_id: id }) => type === 'function_call_output' && ids.has(id))
    .map(({ output }) => output);
}

/** The next turn of the conversation; the last words after all of them. */
function play(body: Members, turns: readonly Turn[], count: number): Script {
  const [tool, input] = turns[outputsIn(body, turns).length] ?? [];
  const called = tool === undefined ? undefined : (findTool(body, tool, input) ?? findSearch(body, tool));
  const text = body.messages ? JSON.stringify(ANSWERED) : LAST_WORDS;
  const plain = answerTo({ ...body, tools: [] }, { text }, count);
  const answer = { ...plain, ...(called && { toolCalls: [{ id: `call_${count}`, ...called }], pieces: [] }) };
  if (body.stream !== true) {
    const whole = body.messages ? chatCompletion(answer, 'asked') : responseObject(answer, body, finalStatus(answer));
    return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(whole))] };
  }
  const events = responsesEvents(answer, body, { end: 'regular', withUsage: true, obfuscation: false });
  return { pieces: [streamContent(events).bytes] };
}

interface Called {
  name: string;
  namespace?: string;
  arguments: string;
}

/** The tool of the gateway as the program names it: with a prefix, or in a namespace. */
function findTool({ tools = [] }: Members, wanted: string, input: object = {}): Called | undefined {
  const call = { arguments: JSON.stringify(input) };
  for (const { name, type, tools: inner = [] } of tools as Members[]) {
    if (type === 'namespace') {
      const found = inner.find((one: Members) => one.name.endsWith(wanted));
      if (found) return { name: found.name, namespace: name, ...call };
    } else if (name?.endsWith(wanted)) return { name, ...call };
  }
  return undefined;
}

/** Programs with many tools send only the names of some, and a tool that finds the rest. */
function findSearch({ tools = [] }: Members, wanted: string): Called | undefined {
  const isThere = (tools as Members[]).some(({ name }) => name === 'ToolSearch');
  return isThere ? { name: 'ToolSearch', arguments: JSON.stringify({ query: wanted, max_results: 5 }) } : undefined;
}
