/** An app with a text upstream, and requests to it. */

import type { TextCall } from 'mediagate';
import openaiText from 'mediagate/plugins/openai_text';
import {
  type Script,
  type ScriptedText,
  type ScriptedTextOptions,
  scriptedText,
} from '../../support/models/scripted-text.js';
import type { TextUpstream } from '../../support/models/text-upstream.js';
import { type Answer, type ListeningApp, type ListeningAppOptions, startApp } from '../http/listening-app.js';

export const CHAT = { model: 'm-5.5', messages: [{ role: 'user', content: 'Say something about Ostend.' }] };

/** An app whose model `m-5.5` is asked of a server on loopback. */
export function startUpstreamApp(upstream: TextUpstream, options: ListeningAppOptions = {}): Promise<ListeningApp> {
  const upstreams = [{ url: upstream.baseUrl, model: 'vendor/secret-name' }];
  return startApp({
    ...options,
    gateway: {
      plugins: [{ use: openaiText, options: { models: 'm-5.5', upstreams }, timeoutMs: 60_000 }],
      services: { http: undefined },
      ...options.gateway,
    },
  });
}

/** An app whose models say what they are told to. */
export async function startScriptedApp(
  script: (call: TextCall) => Script | Promise<Script>,
  options: ScriptedTextOptions = {},
  more: ListeningAppOptions = {},
): Promise<ListeningApp & { model: ScriptedText }> {
  const model = scriptedText(script, options);
  const plugins = [{ use: model.plugin, timeoutMs: 5_000 }];
  const app = await startApp({ ...more, gateway: { ...more.gateway, plugins } });
  return Object.assign(app, { model });
}

export function post(app: ListeningApp, path: string, key: string, body: unknown, headers = {}): Promise<Answer> {
  return app.request(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** An app with a client that has read the first event of a chat and is owed the rest. */
export async function startOpenStream(
  options: ListeningAppOptions = {},
): Promise<{ app: ListeningApp; leave: () => void }> {
  const piece = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"Ostend"}}]}\n\n');
  const { plugin } = scriptedText(() => ({ pieces: [piece, 'stall'] }));
  const app = await startApp({ ...options, gateway: { plugins: [{ use: plugin, timeoutMs: 120_000 }] } });
  const key = await app.makeKey({ grants: ['text'] });
  const left = new AbortController();
  const response = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...CHAT, stream: true }),
    signal: left.signal,
  });
  await response.body?.getReader().read();
  return { app, leave: () => left.abort() };
}
