/** Work on large texts in threads. */

import { expect } from 'chai';
import type { TextReply } from '../../../core/contracts/index.js';
import { translateToChat } from '../../../core/text/chats/translation.js';
import { workInThread, workOn } from '../../../core/text/large-work.js';
import { inFormOf } from '../../../core/text/sent-request.js';
import { echo, fail, fill, hang } from '../../support/models/thread-work.js';
import { rejection } from '../../support/rejection.js';

const module = new URL('../../support/models/thread-work.js', import.meta.url).href;
const ECHO = { module, name: 'echo', run: echo };
const HANG = { module, name: 'hang', run: hang };
const bytes = () => [new Uint8Array(Buffer.from('tug boat'))];
const echoed = async (how: string, signal?: AbortSignal) =>
  (await workInThread(ECHO, bytes(), how, signal)).body.toString();

describe('work on large texts', () => {
  it('equals that on short texts, which is done at once', async () => {
    const short = workOn(ECHO, Buffer.from('tug boat'), 'a ');
    expect(short).to.not.be.instanceOf(Promise);
    const sent = Buffer.from(`tug boat${' '.repeat(300_000)}`);
    const large = await workOn(ECHO, sent, 'a ');
    expect({ ...large, body: large.body.toString() }).to.deep.equal({ body: 'a tug b', length: sent.length });
    expect((await short).body.toString()).to.equal('a tug b');
    // The bytes of a request may be asked for again.
    expect(sent.toString('utf8', 0, 8)).to.equal('tug boat');
  });

  it('is aborted when its client leaves, while it runs or waits', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const running = rejection(workInThread(HANG, bytes(), undefined, first.signal));
    const waiting = rejection(echoed('b ', second.signal));
    const last = echoed('c ');
    second.abort(new Error('second left'));
    expect(await waiting).to.include({ message: 'second left' });
    first.abort(new Error('first left'));
    expect(await running).to.include({ message: 'first left' });
    expect(await last).to.equal('c tug b');
  });

  it('affects no other work when it fails, or runs out of memory', async () => {
    const failed = rejection(workInThread({ module, name: 'fail', run: fail }, bytes(), undefined));
    const filled = rejection(workInThread({ module, name: 'fill', run: fill }, bytes(), undefined));
    const other = echoed('d ');
    expect(await failed).to.be.instanceOf(Error);
    expect(await filled).to.be.instanceOf(Error);
    expect(await other).to.equal('d tug b');
  });

  it('is refused if too much waits', async () => {
    const gone = new AbortController();
    const running = rejection(workInThread(HANG, bytes(), undefined, gone.signal));
    const waiting = Array.from({ length: 64 }, () => echoed('e '));
    expect(await rejection(echoed('f '))).to.include({ code: 'queue_full' });
    gone.abort(new Error('left'));
    await running;
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set(['e tug b']));
  });

  describe('does not hold the event loop', () => {
    const LONG = 'a harbour and "a tug"\n'.repeat(500_000);
    const choices = [{ index: 0, message: { role: 'assistant', content: LONG }, finish_reason: 'stop' }];
    const chat = JSON.stringify({ id: 'c', model: 'v', choices });
    const chunk = { id: 'c', model: 'v', choices: [{ index: 0, delta: { content: 'tug\n' }, finish_reason: 'stop' }] };
    const events = `data: ${JSON.stringify(chunk)}\n\n`.repeat(100_000);
    const { signal } = new AbortController();

    function replyOf(type: string, text: string): TextReply {
      const body = async function* () {
        for (let at = 0; at < text.length; at += 65_536) yield Buffer.from(text.slice(at, at + 65_536));
      };
      return { status: 200, headers: { 'content-type': type }, body: body(), upstream: 'one', upstreamModel: 'v' };
    }

    async function read({ body }: Pick<TextReply, 'body'>): Promise<number> {
      let length = 0;
      for await (const chunk of body) length += chunk.length;
      return length;
    }

    function callOf(input: string) {
      const parsed = { model: 'v', input };
      const body = Buffer.from(JSON.stringify(parsed));
      return { route: 'responses' as const, model: 'v', stream: false, body, parsed, signal };
    }

    /** Turns of the loop during the work. Done at once, or in a few stages, it takes less. */
    async function turnsDuring(work: () => Promise<number>): Promise<number> {
      let turns = 0;
      let isOver = false;
      const working = work().finally(() => {
        isOver = true;
      });
      while (!isOver) {
        turns += 1;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      expect(await working).to.be.above(400_000);
      return turns;
    }

    const form = (stream: boolean) => ({ route: 'chat_completions' as const, stream, signal });
    const works: Readonly<Record<string, () => Promise<number>>> = {
      'a whole answer becomes events': async () => read(await inFormOf(replyOf('application/json', chat), form(true))),
      'events become a whole answer': async () =>
        read(await inFormOf(replyOf('text/event-stream', events), form(false))),
      'a request becomes a chat': async () => (await translateToChat(callOf(LONG), () => 1)).call.body.length,
      'a chat becomes a response': async () => {
        const { replyOf: responseOf } = await translateToChat(callOf('Hi'), () => 1);
        return read(responseOf(replyOf('application/json', chat)));
      },
    };
    for (const [name, work] of Object.entries(works)) {
      it(`while ${name}`, async () => {
        expect(await turnsDuring(work)).to.be.above(10);
      });
    }
  });
});
