import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { startPatience } from '../../../core/runtime/index.js';

const PATIENCE_MS = 200;

describe('patience', () => {
  it('hears what came while this process was held up, before it is over', async () => {
    const child = fork('--eval', ["process.once('message', () => process.send('answer'))"], { execArgv: [] });
    await once(child, 'spawn');
    const heard: string[] = [];
    const over = new Promise<void>((resolve) => {
      startPatience(PATIENCE_MS, () => {
        heard.push('over');
        resolve();
      });
    });
    child.once('message', (message) => heard.push(String(message)));
    child.send('question');
    // The question goes out, and then nothing is read until the answer has long been there.
    await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    await over;
    expect(heard).to.deep.equal(['answer', 'over']);
  });

  it('is over when nothing came, and not when it was ended before', async () => {
    await new Promise<void>((resolve) => void startPatience(1, resolve));
    let isOver = false;
    const end = startPatience(1, () => {
      isOver = true;
    });
    end();
    await sleep(20);
    expect(isOver).to.equal(false);
  });
});
