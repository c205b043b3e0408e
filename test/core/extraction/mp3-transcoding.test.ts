/** MP3 files during transcoding: deadlines and the end of the gateway. */

import { expect } from 'chai';
import { type RunTranscode, Transcodes } from '../../../core/extraction/media/mp3-transcoding.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { createManualClock } from '../../../core/testing/fakes.js';
import { rejection } from '../../support/rejection.js';
import { untilAborted } from '../../support/until-aborted.js';

describe('transcodings of MP3 files', () => {
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it('run four at a time, let thirty-two wait, and refuse more', async () => {
    const makings = new Transcodes(createManualClock());
    let running = 0;
    const hold = Promise.withResolvers<void>();
    const make: RunTranscode = () => {
      running += 1;
      return hold.promise;
    };
    const all = Array.from({ length: 36 }, (_, index) => makings.join(String(index), make));
    await settle();
    expect(running).to.equal(4);
    expect(() => makings.join('36', make))
      .to.throw(GatewayError)
      .with.property('code', 'queue_full');
    expect(makings.join('7', make), 'one that waits already').to.equal(all[7]);
    hold.resolve();
    await Promise.all(all.map(({ stored }) => stored));
    await settle();
    expect(running).to.equal(36);
    expect(makings.has('7')).to.equal(false);
  });

  it('end after two minutes, waiting included', async () => {
    const clock = createManualClock();
    const makings = new Transcodes(clock);
    const hold = Promise.withResolvers<void>();
    const heedless: RunTranscode = () => hold.promise;
    const running = ['a', 'b', 'c', 'd'].map((key) => makings.join(key, heedless));
    const waiting = makings.join('e', heedless);
    await clock.advance(119_999);
    const outcomes = [...running, waiting].flatMap(({ begun, stored }) => [rejection(begun), rejection(stored)]);
    await clock.advance(1);
    for (const failure of await Promise.all(outcomes)) expect(failure).to.include({ code: 'audio_timeout' });
    expect(clock.sleepers, 'timers of what is over').to.equal(0);
    hold.resolve();
    await settle();
    expect(makings.has('e')).to.equal(false);
    await makings.join('e', async () => undefined).stored;

    const slow = makings.join('f', untilAborted);
    await clock.advance(120_000);
    expect(await rejection(slow.stored)).to.include({ code: 'audio_timeout' });
    await settle();
    expect(() => makings.join('f', heedless), 'a source that was too slow').to.throw(GatewayError);
  });

  it('remember a refusal of the platform, and no failure of the gateway', async () => {
    const makings = new Transcodes(createManualClock());
    const failing = (code: 'removed' | 'bot_check' | 'audio_unavailable' | 'upstream_unavailable' | 'queue_full') => {
      const failure = new GatewayError(code, code);
      return rejection(makings.join(code, () => Promise.reject(failure)).stored);
    };
    for (const code of ['removed', 'bot_check', 'audio_unavailable'] as const) {
      const failure = await failing(code);
      await settle();
      expect(() => makings.join(code, async () => undefined))
        .to.throw(GatewayError)
        .that.equals(failure);
    }
    for (const code of ['upstream_unavailable', 'queue_full'] as const) {
      await failing(code);
      await settle();
      await makings.join(code, async () => undefined).stored;
    }
  });

  it('end with the gateway, which waits for all of them', async () => {
    const makings = new Transcodes(createManualClock());
    let over = false;
    const { stored } = makings.join('a', async (signal) => {
      await untilAborted(signal).catch(() => undefined);
      await settle();
      over = true;
      throw signal.reason;
    });
    await settle();
    await makings.close();
    expect(over).to.equal(true);
    expect(await rejection(stored)).to.include({ code: 'shutting_down' });
  });
});
