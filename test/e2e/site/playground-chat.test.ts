/** The chat of the playground in a real browser: Markdown, files, versions, what is kept, and hostile answers. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { createPrices } from '../../../server/prices/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { FREE } from '../../support/accounts/people.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { startTextUpstream, type TextUpstream, type TextUpstreamAnswer } from '../../support/models/text-upstream.js';
import { until } from '../../support/until.js';

const MODEL = 'm-5.5';
const ANSWER = `## Harbours

| Harbour | Tonnage |
|:--|--:|
| Rotterdam | 438.8 |

\`\`\`python
print("&lt; is not <")
\`\`\`

1. First
   - within

Tom &amp; **Jerry** at [the port](https://port.example/a?b=1&c=2).`;

/** Everything that may not run, load or take over. */
const HOSTILE = `<script>globalThis.attacked = 1</script>

<img src=x onerror="globalThis.attacked = 1"> <svg onload="globalThis.attacked = 1"><a xlink:href="javascript:globalThis.attacked=1">x</a></svg>

[script](javascript:globalThis.attacked=1) [data](data:text/html,<script>globalThis.attacked=1</script>) [tab](java&Tab;script:globalThis.attacked=1)

![tracker](https://tracker.example/pixel.png) ![vector](data:image/svg+xml,<svg/onload=globalThis.attacked=1>)

<style>body { display: none }</style><iframe src="https://frame.example/"></iframe><base href="https://base.example/">

<https://auto.example/x> and <javascript:globalThis.attacked=1>

[ref]

[ref]: javascript:globalThis.attacked=1

| <img src=https://cell.example/x.png> | \`</code><script>globalThis.attacked=1</script>\` |
|--|--|
| x | ![](https://cell.example/y.png) |

\`\`\`"><script>globalThis.attacked=1</script>
</pre><script>globalThis.attacked = 1</script>
access = "user\u202E \u2066// admin\u2069 \u2066"
\`\`\`

Pay \u202Eevil\u202C now.`;

type Chunk = { content?: string; reasoning_content?: string; reasoning?: string };

/** A stream of these pieces, as servers with thoughts send it. */
function streamOf(pieces: readonly Chunk[], finish = 'stop'): TextUpstreamAnswer {
  const event = (data: object) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...data })}\n\n`;
  const chunks = pieces.map((delta) => event({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const usage = {
    prompt_tokens: 1_200,
    completion_tokens: 50,
    total_tokens: 1_250,
    completion_tokens_details: { reasoning_tokens: 20 },
  };
  const end = [event({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }), event({ choices: [], usage })];
  return {
    does: 'bytes',
    contentType: 'text/event-stream',
    bytes: `${[...chunks, ...end].join('')}data: [DONE]\n\n`,
  };
}

function wordsOf(text: string): Chunk[] {
  return (text.match(/\s*\S+\s*/g) ?? []).map((content) => ({ content }));
}

describe('the chat of the playground', () => {
  let upstream: TextUpstream;
  let app: SignInApp;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const complaints: string[] = [];
  const foreign: string[] = [];

  before(async function () {
    const executable = await chromiumFor(this);
    upstream = await startTextUpstream();
    const upstreams = [{ url: upstream.baseUrl, model: 'vendor-large' }];
    app = await startSignInApp({
      plugins: [{ use: openaiText, options: { models: MODEL, upstreams } }],
      gateway: { services: { http: undefined } },
      prices: createPrices({ currency: 'USD', models: { [MODEL]: { input: 1, output: 10 } } }),
    });
    browser = await launchPageBrowser(executable);
    context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    page = await context.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (/^https?:/.test(request.url()) && !request.url().startsWith(app.url)) foreign.push(request.url());
    });
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
    const [user] = (await app.state.users.list({ limit: 10 })).filter(({ email }) => email === 'ann@example.com');
    const terms = { ...FREE, rpm: null, budget: null };
    await app.state.accounts.grant({ accountId: user!.accountId, terms, actor: 'operator:bob' });
    foreign.length = 0;
  });
  after(async () => {
    await browser?.close();
    await app?.close();
    await upstream?.close();
  });

  const open = async (): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${app.url}/playground#chat`);
    await page.getByRole('button', { name: 'Send' }).and(page.locator(':enabled')).waitFor();
  };
  const startAnew = async (): Promise<void> => {
    await open();
    await page.getByRole('button', { name: 'New chat' }).click();
    const sure = page.getByRole('button', { name: 'Delete and start' });
    await sure.or(page.locator('#chat-empty:visible')).first().waitFor();
    if (await sure.isVisible()) await sure.click();
    await page.locator('#chat-empty').waitFor({ state: 'visible' });
  };
  const turns = (): Locator => page.locator('#chat-entries > li');
  /** Sends by keyboard, and waits for the end of the answer. */
  async function send(text: string): Promise<Locator> {
    const before = await turns().count();
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.keyboard.press('Enter');
    const answer = turns().nth(before + 1);
    await answer.locator('.chat-facts').waitFor();
    // The script for Markdown comes with the first answer.
    await answer.locator('.chat-prose:not(.chat-plain)').waitFor();
    return answer;
  }
  const bodyOf = (index = -1) =>
    upstream.requests.at(index)?.members as Record<string, unknown> & { messages: unknown[] };

  it('shows Markdown with tables, lists and code that can be copied, with tokens, time and cost', async () => {
    await startAnew();
    upstream.behave(() =>
      streamOf([{ reasoning_content: 'The user ' }, { reasoning_content: 'asks.' }, ...wordsOf(ANSWER)]),
    );
    const answer = await send('Compare harbours');
    expect(await answer.locator('table td').allTextContents()).to.deep.equal(['Rotterdam', '438.8']);
    expect(await answer.locator('h3').textContent()).to.equal('Harbours');
    expect(await answer.locator('ol > li > ul > li').textContent()).to.equal('within');
    expect(await answer.locator('p').last().textContent()).to.contain('Tom & Jerry at the port.');
    const link = answer.getByRole('link', { name: 'the port' });
    expect(await link.getAttribute('href')).to.equal('https://port.example/a?b=1&c=2');
    expect(await link.getAttribute('rel')).to.equal('noopener noreferrer');
    await answer.getByRole('button', { name: 'Copy python' }).click();
    await answer.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).to.equal('print("&lt; is not <")');
    expect(await answer.locator('.chat-thoughts').getAttribute('open')).to.equal(null);
    expect(await answer.locator('.chat-thought-text').textContent()).to.equal('The user asks.');
    // 1,200 tokens of input at 1 USD, and 50 of output at 10 USD, for a million.
    await answer.getByText('1,200 tokens in, 50 out · 20 of them for thoughts · costs $0.0017').waitFor();
    expect(await page.locator('#chat-news').textContent()).to.equal(ANSWER);
    expect(await findings(page)).to.deep.equal([]);
  });

  it('waits where the answer will come, and shows the end of an answer that fits the view', async () => {
    await startAnew();
    const chats = '**/v1/chat/completions';
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    await page.route(chats, async (route) => {
      await held;
      await route.continue();
    });
    try {
      upstream.behave(() => streamOf(wordsOf(ANSWER)));
      await page.getByLabel('Message', { exact: true }).fill('Compare harbours\n\nby tonnage\n\nand by depth.');
      await page.keyboard.press('Enter');
      await page.locator('.chat-answer').getByText('Waiting for an answer').waitFor();
    } finally {
      go();
    }
    await page.locator('#chat-log .chat-facts').waitFor();
    await page.unroute(chats);
    // Too low for the question and the answer, and high enough for the answer.
    const height = await page.locator('.chat-answer').evaluate((answer) => {
      const message = document.querySelector('.chat-composer')?.clientHeight ?? 0;
      return Math.round(message + answer.getBoundingClientRect().height + 80);
    });
    await page.setViewportSize({ width: 1_280, height });
    try {
      await page.getByRole('button', { name: 'Retry' }).click();
      await page.locator('#chat-log').getByText('2 of 2').waitFor();
      const left = () =>
        page.locator('#chat-form').evaluate((form) => Math.abs(form.getBoundingClientRect().bottom - innerHeight));
      await until(async () => (await left()) < 2);
      expect(await page.evaluate(() => scrollY)).to.be.above(0);
    } finally {
      await page.setViewportSize({ width: 1_280, height: 720 });
    }
  });

  it('makes only the last block again while an answer grows', async () => {
    await startAnew();
    upstream.behave(
      () =>
        ({
          ...streamOf(wordsOf(`First.\n\nSecond.\n\n${'word '.repeat(200)}`)),
          chunks: 400,
          pauseMs: 15,
        }) as TextUpstreamAnswer,
    );
    await page.getByLabel('Message', { exact: true }).fill('Grow');
    await page.keyboard.press('Enter');
    const paragraphs = page.locator('.chat-prose > p');
    await paragraphs.nth(2).waitFor();
    for (const index of [0, 1, 2]) await paragraphs.nth(index).evaluate((node) => node.setAttribute('data-seen', ''));
    await page.locator('#chat-log .chat-facts').waitFor();
    const seen = await paragraphs.evaluateAll((all) => all.map((one) => one.hasAttribute('data-seen')));
    expect(seen).to.deep.equal([true, true, false]);
  });

  it('sends the system prompt, the settings and files, and shows the same request as code that runs', async () => {
    await startAnew();
    upstream.behave([]);
    await page.getByLabel('Instructions').fill('You are a harbour master.');
    await page.getByLabel('Temperature').fill('0.4');
    await page.getByLabel('Maximum tokens').fill('300');
    await page.getByLabel('Reasoning effort').selectOption('low');
    const buffer = await sampleImage({ width: 64, height: 64, format: 'png', seed: 5 });
    await page.locator('#chat-files').setInputFiles({ name: 'tug.png', mimeType: 'image/png', buffer });
    await page.getByLabel('Message', { exact: true }).evaluate((field) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['a,b\n1,2\n'], 'table.csv', { type: 'text/csv' }));
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    });
    await page.getByRole('button', { name: 'Remove table.csv' }).waitFor();
    await send('What is on the picture?');
    const { messages, temperature, max_tokens, reasoning_effort, stream_options } = bodyOf();
    expect({ temperature, max_tokens, reasoning_effort, stream_options }).to.deep.equal({
      temperature: 0.4,
      max_tokens: 300,
      reasoning_effort: 'low',
      stream_options: { include_usage: true },
    });
    const [system, user] = messages as [object, { content: { type: string; text?: string }[] }];
    expect(system).to.deep.equal({ role: 'system', content: 'You are a harbour master.' });
    expect(user.content[0]).to.deep.equal({
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${buffer.toString('base64')}` },
    });
    expect(user.content.at(-1)).to.deep.equal({ type: 'text', text: 'What is on the picture?' });
    expect(JSON.stringify(user.content)).to.contain('table.csv');
    await page.locator('#chat-entries img[alt="Attached: tug.png"]').waitFor();
    await turns().last().getByRole('button', { name: 'Code' }).click();
    const code = page.locator('#chat-code-text');
    expect(await code.textContent()).to.match(/^curl http.*"url": "data:image\/png;base64,…"/s);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await startAnew();
    await page.getByLabel('Message', { exact: true }).fill("It's a test");
    await page.locator('#chat-code').click();
    await page.getByRole('radio', { name: 'Node' }).check();
    const key = await app.makeKey({ grants: ['text'] });
    const program = (await code.textContent()) ?? '';
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
      env: { ...process.env, MEDIAGATE_API_KEY: key },
    });
    expect(stdout).to.match(/^200 .*You said: It's a test/s);
    expect(bodyOf()).to.deep.include({ temperature: 0.4, max_tokens: 300, reasoning_effort: 'low' });
    await page.keyboard.press('Escape');
  });

  it('keeps versions of edited messages and repeated answers, also after a reload', async () => {
    await startAnew();
    let count = 0;
    upstream.behave(() => {
      count += 1;
      return streamOf(wordsOf(`Answer ${count}`));
    });
    await send('One');
    await send('Two');
    await turns().last().getByRole('button', { name: 'Retry' }).click();
    await turns().last().getByText('2 of 2').waitFor();
    expect(bodyOf().messages).to.have.length(4);
    await turns().nth(2).getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit the message').fill('Two, changed');
    await page.keyboard.press('Enter');
    await turns().last().getByText('Answer 4').waitFor();
    expect(JSON.stringify(bodyOf().messages)).to.contain('Two, changed').and.not.to.contain('Answer 2');
    await turns().last().locator('.chat-facts').waitFor();
    await turns().nth(2).getByRole('button', { name: 'Previous version' }).click();
    await turns().last().getByText('Answer 3').waitFor();
    await turns().last().getByRole('button', { name: 'Previous version' }).click();
    await turns().last().getByText('Answer 2').waitFor();
    await open();
    await turns().last().getByText('Answer 2').waitFor();
    expect(await turns().count()).to.equal(4);
    expect(await page.getByLabel('Instructions').inputValue()).to.equal('You are a harbour master.');
    await page.locator('#chat-clear').click();
    await page.getByRole('button', { name: 'Go back' }).click();
    expect(await turns().count()).to.equal(4);
    await startAnew();
    await open();
    await page.locator('#chat-empty').waitFor({ state: 'visible' });
  });

  it('stops an answer, whose text stays, and says why another one ended', async () => {
    await startAnew();
    upstream.behave(
      () => ({ ...streamOf(wordsOf('word '.repeat(400))), chunks: 300, pauseMs: 30 }) as TextUpstreamAnswer,
    );
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByLabel('Message', { exact: true }).fill('A long one');
    await page.keyboard.press('Enter');
    await page.locator('#chat-log').getByText('word word word').waitFor();
    // On a phone the page scrolls; question and field are in view.
    await page.waitForFunction(() => {
      const [asked, field] = [[...document.querySelectorAll('.chat-own')].at(-1), document.querySelector('.chat-box')];
      const { bottom = 0 } = field?.getBoundingClientRect() ?? {};
      return Math.abs((asked?.getBoundingClientRect().top ?? 844) - 12) < 2 && bottom > 800 && bottom <= innerHeight;
    });
    await page.setViewportSize({ width: 1_280, height: 844 });
    await page.getByRole('button', { name: 'Stop' }).click();
    await turns().last().getByText('You stopped this answer.').waitFor();
    expect(await turns().last().locator('.chat-prose').textContent()).to.contain('word word');
    upstream.behave(() => streamOf(wordsOf('Only this'), 'length'));
    const cut = await send('Shorter');
    await cut.getByText('The answer reached the maximum of tokens.').waitFor();
    upstream.behave(
      () => ({ does: 'error', status: 500, type: 'server_error', message: 'Broken.' }) as TextUpstreamAnswer,
    );
    await page.getByLabel('Message', { exact: true }).fill('Does this work?');
    await page.keyboard.press('Enter');
    await page.locator('#chat-form [role="alert"]:not(:empty)').waitFor();
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).to.equal('Does this work?');
    expect(await turns().count()).to.equal(4);
    complaints.length = 0;
  });

  it('shows a message that was not answered in one place, also after a reload', async () => {
    await startAnew();
    const shown = page.locator('#chat-entries').getByText('Ahoy?', { exact: true });
    const chats = '**/v1/chat/completions';
    const field = page.getByLabel('Message', { exact: true });
    await page.route(chats, (route) => route.abort());
    try {
      await field.fill('Ahoy?');
      await page.keyboard.press('Enter');
      await turns().first().getByText('Not sent: the gateway cannot be reached').waitFor();
      expect([await field.inputValue(), await shown.count()]).to.deep.equal(['', 1]);
      // One button to try again: that of the message.
      expect(await page.locator('#chat-form [role="alert"]').textContent()).to.equal('');
      expect(await page.locator('#chat-form').getByRole('button', { name: 'Try again' }).count()).to.equal(1);
      expect(await page.locator('#chat-empty').isVisible()).to.equal(false);
    } finally {
      await page.unroute(chats);
    }
    await open();
    await turns().first().getByText('Not sent').waitFor();
    upstream.behave(() => streamOf(wordsOf('Ahoy!')));
    // A new message takes the place of one that did not arrive.
    await field.fill('Ahoy');
    await page.keyboard.press('Enter');
    await turns().last().getByText('Ahoy!').waitFor();
    await turns().last().locator('.chat-facts').waitFor();
    expect(bodyOf().messages).to.have.length(2);
    expect(JSON.stringify(bodyOf().messages)).to.contain('Ahoy').and.not.contain('Ahoy?');
    await turns().first().getByText('2 of 2').waitFor();
    await page.route(chats, (route) => route.abort());
    try {
      await turns().first().getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Edit the message').fill('Ahoy?');
      await page.keyboard.press('Enter');
      await turns().first().getByText('Not sent').waitFor();
      expect([await field.inputValue(), await turns().count()]).to.deep.equal(['', 1]);
    } finally {
      await page.unroute(chats);
    }
    await turns().first().getByRole('button', { name: 'Try again' }).click();
    await turns().last().getByText('Ahoy!').waitFor();
    expect(await turns().first().getByText('Not sent').count()).to.equal(0);
    complaints.length = 0;
  });

  it('says that an answer stopped as the page was left, also one without text', async () => {
    for (const pauseMs of [30, 60_000]) {
      await startAnew();
      upstream.behave(
        () => ({ ...streamOf(wordsOf('word '.repeat(400))), chunks: 300, pauseMs }) as TextUpstreamAnswer,
      );
      await page.getByLabel('Message', { exact: true }).fill('A long one');
      await page.keyboard.press('Enter');
      if (pauseMs < 1_000) await page.locator('#chat-log').getByText('word word word').waitFor();
      else await page.locator('#chat-stop:visible').waitFor();
      await open();
      await turns().last().getByText('This answer stopped when you left the page').waitFor();
    }
    complaints.length = 0;
  });

  it('runs nothing of a hostile answer, and loads nothing from other hosts', async () => {
    await startAnew();
    upstream.behave(() => streamOf(wordsOf(HOSTILE)));
    const answer = await send('Attack');
    await page.waitForTimeout(500);
    expect(await page.evaluate(() => (globalThis as { attacked?: number }).attacked)).to.equal(undefined);
    expect(await answer.locator('script, img, svg, style, iframe, base, object, form').count()).to.equal(0);
    const hrefs = await answer
      .locator('a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
    expect(hrefs.filter((href) => !/^https:\/\//.test(href))).to.deep.equal([]);
    expect(hrefs).to.include('https://tracker.example/pixel.png');
    const text = (await answer.textContent()) ?? '';
    expect(text).to.contain('<script>globalThis.attacked = 1</script>').and.to.contain('user⟨U+202E⟩');
    expect(text).not.to.match(/[\u202A-\u202E\u2066-\u2069]/);
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).to.be.at.most(0);
    }
    await page.setViewportSize({ width: 1_280, height: 844 });
    // Nesting that would exceed the stack of a parser.
    upstream.behave(() =>
      streamOf([{ content: `${'>'.repeat(20_000)} deep` }, { content: `\n\n${'['.repeat(20_000)}` }]),
    );
    const deep = await send('Deep');
    await deep.getByText('deep').first().waitFor();
    expect(foreign).to.deep.equal([]);
    expect(complaints).to.deep.equal([]);
  });

  it('keeps nothing for another account, and deletes it when its user signs out', async () => {
    await startAnew();
    upstream.behave([]);
    await send('A secret');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${app.url}/`);
    // The identity provider would sign the same person in again.
    await context.clearCookies();
    await signInAs(page, app.url, { email: 'ben@example.com', name: 'Ben' });
    await open();
    await page.locator('#chat-empty').waitFor({ state: 'visible' });
    const kept = await page.evaluate(async () => {
      const names = (await indexedDB.databases()).map(({ name }) => name ?? '');
      const all: unknown[] = [];
      for (const name of names) {
        const database = await new Promise<IDBDatabase>((resolve) => {
          const opening = indexedDB.open(name);
          opening.onsuccess = () => resolve(opening.result);
        });
        for (const store of database.objectStoreNames) {
          const reading = database.transaction(store).objectStore(store).getAll();
          all.push(
            await new Promise((resolve) => {
              reading.onsuccess = () => resolve(reading.result);
            }),
          );
        }
      }
      return JSON.stringify(all);
    });
    expect(kept).not.to.contain('A secret');
  });
});
