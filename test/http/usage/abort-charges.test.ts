/* What a model request is charged that ends early: what was reported and received, and not its reservation. */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import {
  chatChunk,
  dataEvents,
  messageObject,
  namedEvents,
  type ScriptedVendor,
  startScriptedVendor,
  type VendorScript,
} from '../../support/models/scripted-vendor.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const CHATS = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const MESSAGES = '/v1/messages';
const prices = createPrices({
  currency: 'USD',
  models: { fast: { input: 1, output: 10 }, claude: { input: 0.15, output: 10 } },
});
/** Five words, and then nothing more. */
const WORDS = ['Ahoy', ' there', ' from', ' the', ' pier'];
const chatWords = dataEvents(
  chatChunk({ role: 'assistant', content: '' }),
  ...WORDS.map((content) => chatChunk({ content })),
);
const messageWords = namedEvents(
  { type: 'message_start', message: { ...messageObject(), usage: { input_tokens: 32_000, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...WORDS.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
);
const HANGS: VendorScript = { pieces: [chatWords], ends: 'hang' };
const SPEED = 1_000;

describeOnStacks('requests that end early', (stack) => {
  const once = onceIt(stack);
  for (const abortCharge of ['used', 'reserved'] as const) {
    describe(`with ABORT_CHARGE=${abortCharge}`, () => {
      let vendor: ScriptedVendor;
      let claude: ScriptedVendor;
      let app: ListeningApp;
      const keys: Record<string, string> = {};

      before(async () => {
        await untilDayHasRoom();
        [vendor, claude] = await Promise.all([startScriptedVendor(), startScriptedVendor()]);
        const models = [{ id: 'fast', outputTokensPerSecond: SPEED }];
        app = await startApp({
          stack,
          prices,
          messages: true,
          gateway: {
            services: { http: undefined },
            text: { abortCharge, idleMs: 2_500 },
            plugins: [
              { use: openaiText, options: { models, upstreams: [{ url: vendor.url, routes: ['chat_completions'] }] } },
              { use: anthropicText, options: { models: 'claude', upstreams: [{ url: claude.url }] } },
            ],
          },
        });
        const budget = parseBudget('50 USD/month');
        if (!budget) throw new Error('no budget');
        const first = { budgets: [budget], actor: 'operator:ann' };
        const furtherBudgets = (await app.state.budgets.createGroup('team', first)).map(({ id }) => id);
        keys.budget = await app.makeKey({ grants: ['text'] }, { furtherBudgets, groupName: 'team' });
        keys.plain = await app.makeKey({ grants: ['text'] });
      });
      beforeEach(() => {
        vendor.reset();
        claude.reset();
        vendor.answer(HANGS);
        claude.answer({ pieces: [messageWords], ends: 'hang' });
      });
      after(() => Promise.all([app.close(), vendor.close(), claude.close()]));

      /** Sends a request, and leaves when `leaves` resolves, or reads to its end. */
      async function spend(
        path: string,
        by: string,
        body: object,
        leaves?: (read: () => Promise<string>) => Promise<unknown>,
      ) {
        const leaving = new AbortController();
        const before = new Set((await entries()).map(({ requestId }) => requestId));
        const answer = fetch(`${app.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${keys[by]}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: leaving.signal,
        });
        if (leaves) {
          const read = async () => {
            const reader = (await answer).body?.getReader();
            let text = '';
            while (!text.includes('pier')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
            return text;
          };
          await Promise.race([leaves(read), answer.then(() => new Promise(() => {}))]).catch(() => {});
          leaving.abort();
          await answer.catch(() => {});
        } else await answer.then((response) => response.text()).catch(() => {});
        const [entry] = await until(async () => {
          await app.state.admissions.flush();
          const found = (await entries()).filter(({ requestId }) => !before.has(requestId));
          return found.length > 0 && found;
        });
        return entry;
      }
      const entries = () => {
        const day = new Date().toISOString().slice(0, 10);
        return app.state.usage.entries({ from: day, to: day }, 100);
      };
      const left = async () => {
        const response = await fetch(`${app.url}/v1/usage`, { headers: { authorization: `Bearer ${keys.budget}` } });
        const { budgets } = (await response.json()) as { budgets: { reserved: number; used: number }[] };
        return budgets[0];
      };
      const chat = (more: object = {}) => ({ model: 'fast', messages: [{ role: 'user', content: 'Hi' }], ...more });
      const later = (ms: number) => () => new Promise((done) => setTimeout(done, ms));

      if (abortCharge === 'reserved') {
        once('cost all that was reserved', async () => {
          const entry = await spend(CHATS, 'budget', chat({ stream: true, max_tokens: 5_000 }), (read) => read());
          expect(entry).to.include({ outputTokens: 5_000, estimated: true });
        });
        return;
      }

      for (const by of ['budget', 'plain']) {
        once(`cost the input and the words that a client of a ${by} key received`, async () => {
          for (const [path, body] of [
            [CHATS, chat({ stream: true })],
            [RESPONSES, { model: 'fast', input: 'Hi', stream: true }],
            [MESSAGES, { ...chat({ stream: true }), max_tokens: 20_000 }],
          ] as const) {
            const entry = await spend(path, by, body, (read) => read());
            expect(entry?.inputTokens, path).to.be.within(1, 60);
            expect(entry?.outputTokens, path).to.be.within(5, 12);
            expect(entry).to.include({ estimated: true });
          }
          const entry = await spend(
            MESSAGES,
            by,
            { ...chat({ stream: true }), model: 'claude', max_tokens: 32_000 },
            (read) => read(),
          );
          expect(entry).to.include({ inputTokens: 32_000, estimated: true });
          expect(entry?.outputTokens).to.be.within(5, 12);
          expect(entry?.cost).to.be.within(4_850, 4_950);
        });
      }

      it('return the rest of their reservation', async () => {
        const before = await left();
        await spend(CHATS, 'budget', chat({ stream: true }), (read) => read());
        const after = await until(async () => {
          const now = await left();
          return now?.reserved === 0 && now;
        });
        expect((after?.used ?? 0) - (before?.used ?? 0)).to.be.within(0.00005, 0.0003);
      });

      once('cost the larger of the reported and the received usage', async () => {
        const usage = { prompt_tokens: 700, completion_tokens: 90, total_tokens: 790 };
        const reported = dataEvents({ ...chatChunk({ content: ' more' }), usage });
        vendor.answer({ pieces: [chatWords, reported], ends: 'break' });
        expect(await spend(CHATS, 'budget', chat({ stream: true }))).to.include({ inputTokens: 700, outputTokens: 90 });
      });

      once('cost what arrived before the upstream broke off, or fell silent', async () => {
        for (const ends of ['break', 'hang'] as const) {
          vendor.answer({ pieces: [chatWords], ends });
          const entry = await spend(CHATS, 'budget', chat({ stream: true }));
          expect(entry?.outputTokens, ends).to.be.within(5, 12);
        }
      });

      once('cost their time if the output is hidden, within the reservation', async () => {
        vendor.answer({ type: 'application/json', pieces: [], ends: 'silent' });
        let begun = performance.now();
        // The gateway counts from when it has the request, on a busy machine later than the client sent it.
        const fewest = 0.1 * SPEED;
        const most = () => ((performance.now() - begun) / 1_000) * SPEED + 1;
        const whole = await spend(CHATS, 'budget', chat(), later(700));
        expect(whole?.inputTokens).to.be.within(1, 60);
        expect(whole?.outputTokens).to.be.within(fewest, most());
        const limited = await spend(CHATS, 'budget', chat({ max_tokens: 300 }), later(700));
        expect(limited?.outputTokens).to.equal(300);
        vendor.answer({
          pieces: [dataEvents(chatChunk({ role: 'assistant', content: '' })), 700, chatWords],
          ends: 'hang',
        });
        begun = performance.now();
        const hidden = await spend(CHATS, 'budget', chat({ stream: true, reasoning_effort: 'high' }), (read) => read());
        expect(hidden?.outputTokens).to.be.within(fewest, most());
      });

      once('cost nothing if a stream never began', async () => {
        vendor.answer({ pieces: [], ends: 'silent' });
        const entry = await spend(CHATS, 'budget', chat({ stream: true }), later(300));
        expect(entry).to.include({ inputTokens: null, outputTokens: null });
        expect((await left())?.reserved).to.equal(0);
      });
    });
  }
});
