/** Processes of the offline speech engines: hangs, idle ends and failures. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { GatewayError } from 'mediagate/plugin';
import { Engine } from '../engines.js';
import type { OddOrder } from './odd-engine.js';

const never = new AbortController().signal;

describe('offline_speech: processes of engines', () => {
  const open = (limits: { orderMs?: number; idleMs?: number } = {}) => {
    const engine = new Engine<OddOrder, number>({ module: new URL('./odd-engine.js', import.meta.url), ...limits });
    return { tell: (order: OddOrder, signal = never) => engine.run(order, signal), end: () => engine.end() };
  };
  const failure = async (work: Promise<unknown>) => {
    const error = await work.catch((reason: unknown) => reason);
    return error instanceof GatewayError ? error.code : error;
  };

  it('runs orders one after the other in one process, without its environment', async () => {
    const engine = open();
    const answers = await Promise.all([engine.tell('wait'), engine.tell('tell'), engine.tell('environment')]);
    expect(answers).to.deep.equal([answers[0], answers[0], 0]);
    await engine.end();
  });

  for (const end of ['crash', 'exit'] as const) {
    it(`fails only the order that made it ${end}, and runs the next ones in another process`, async () => {
      const engine = open();
      const first = await engine.tell('tell');
      const failed = failure(engine.tell(end));
      const after = engine.tell('tell');
      expect(await failed).to.equal('plugin_unavailable');
      expect(await after)
        .to.be.a('number')
        .and.not.equal(first);
      await engine.end();
    });
  }

  it('ends a process that hangs, and continues with another', async () => {
    const engine = open({ orderMs: 5_000 });
    const hung = failure(engine.tell('hang'));
    const after = failure(engine.tell('tell'));
    expect(await hung).to.equal('upstream_timeout');
    expect(await after).to.be.a('number');
    await engine.end();
  });

  it('lets callers leave at once, queued or running, and serves the next ones', async () => {
    const engine = open();
    await engine.tell('tell');
    const gone = new Error('the caller left');
    const leaving = new AbortController();
    const left = [failure(engine.tell('wait', leaving.signal)), failure(engine.tell('crash', leaving.signal))];
    const stays = engine.tell('tell');
    leaving.abort(gone);
    expect(await Promise.all(left)).to.deep.equal([gone, gone]);
    expect(await stays).to.be.a('number');
    expect(await failure(engine.tell('tell', leaving.signal))).to.equal(gone);
    await engine.end();
  });

  it('ends an idle process, and starts another for new work', async () => {
    const engine = open({ idleMs: 50 });
    const first = await engine.tell('tell');
    await sleep(300);
    expect(await engine.tell('tell'))
      .to.be.a('number')
      .and.not.equal(first);
    await engine.end();
  });

  it('fails open work when it is closed, and can be used again', async () => {
    const engine = open();
    const failures = [failure(engine.tell('wait')), failure(engine.tell('tell'))];
    await engine.end();
    expect(await Promise.all(failures)).to.deep.equal(['plugin_unavailable', 'plugin_unavailable']);
    expect(await engine.tell('tell')).to.be.a('number');
    await engine.end();
  });
});
