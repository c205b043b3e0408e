/** Threads of the offline speech engine: hangs, idle ends and failures. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { GatewayError } from 'mediagate/plugin';
import { createEngineThread } from '../engines.js';
import type { OddOrder } from './odd-engine.js';

const never = new AbortController().signal;

describe('offline_speech: threads', () => {
  const open = (limits: { orderMs?: number; idleMs?: number } = {}) => {
    const thread = createEngineThread<OddOrder, number>({
      module: new URL('./odd-engine.js', import.meta.url),
      ...limits,
    });
    return { ...thread, tell: (order: OddOrder, signal = never) => thread.run(order, [], signal) };
  };
  const failure = async (work: Promise<unknown>) => {
    const error = await work.catch((reason: unknown) => reason);
    return error instanceof GatewayError ? error.code : error;
  };

  it('runs orders one after the other in one thread, without the process environment', async () => {
    const thread = open();
    const answers = await Promise.all([thread.tell('wait'), thread.tell('tell'), thread.tell('environment')]);
    expect(answers).to.deep.equal([answers[0], answers[0], 0]);
    await thread.end();
  });

  for (const end of ['crash', 'exit'] as const) {
    it(`fails only the order that made it ${end}, and runs the next ones in another thread`, async () => {
      const thread = open();
      const first = await thread.tell('tell');
      const failed = failure(thread.tell(end));
      const after = thread.tell('tell');
      expect(await failed).to.equal('plugin_unavailable');
      expect(await after).to.be.above(first);
      await thread.end();
    });
  }

  it('ends a thread that hangs, and continues with another', async () => {
    const thread = open({ orderMs: 5_000 });
    const hung = failure(thread.tell('hang'));
    const after = failure(thread.tell('tell'));
    expect(await hung).to.equal('upstream_timeout');
    expect(await after).to.be.a('number');
    await thread.end();
  });

  it('lets callers leave at once, queued or running, and serves the next ones', async () => {
    const thread = open();
    await thread.tell('tell');
    const gone = new Error('the caller left');
    const leaving = new AbortController();
    const left = [failure(thread.tell('wait', leaving.signal)), failure(thread.tell('crash', leaving.signal))];
    const stays = thread.tell('tell');
    leaving.abort(gone);
    expect(await Promise.all(left)).to.deep.equal([gone, gone]);
    expect(await stays).to.be.a('number');
    expect(await failure(thread.tell('tell', leaving.signal))).to.equal(gone);
    await thread.end();
  });

  it('ends an idle thread, and starts another for new work', async () => {
    const thread = open({ idleMs: 50 });
    const first = await thread.tell('tell');
    await sleep(300);
    expect(await thread.tell('tell')).to.be.above(first);
    await thread.end();
  });

  it('fails open work when it is closed, and can be used again', async () => {
    const thread = open();
    const failures = [failure(thread.tell('wait')), failure(thread.tell('tell'))];
    await thread.end();
    expect(await Promise.all(failures)).to.deep.equal(['plugin_unavailable', 'plugin_unavailable']);
    expect(await thread.tell('tell')).to.be.a('number');
    await thread.end();
  });
});
