/** The queue of tasks for worker threads: turns of owners, a full queue, abort, time limits and failures. */

import { expect } from 'chai';
import { WorkerQueue, type WorkerQueueOptions } from '../../../core/runtime/index.js';
import { rejection } from '../../support/rejection.js';

const CODE = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ does, name }) => {
    if (does === 'hang') return;
    if (does === 'fail') throw new Error('failed');
    parentPort.postMessage(name);
  });`;
const module = new URL(`data:text/javascript,${encodeURIComponent(CODE)}`);

describe('a queue of tasks for worker threads', () => {
  type Task = { does?: 'hang' | 'fail'; name?: string };
  let queue: WorkerQueue<Task, string>;
  afterEach(() => queue.close());

  function open(options: Partial<WorkerQueueOptions> = {}): void {
    queue = new WorkerQueue<Task, string>({
      ...{ module, heapMb: 64, maxWaiting: 4, full: () => new Error('full') },
      ...options,
    });
  }

  it('lets owners take turns', async () => {
    open();
    const ended: string[] = [];
    const run = async (owner: string, name: string) => void ended.push(await queue.run({ name }, { owner }));
    await Promise.all([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1')]);
    expect(ended).to.deep.equal(['a1', 'a2', 'b1', 'a3']);
  });

  it('drops the latest task of the owner with the most, or refuses', async () => {
    open();
    const [first, , , , last] = Array.from({ length: 5 }, (_, name) => queue.run({ name: `${name}` }, { owner: 'a' }));
    const dropped = rejection(last ?? Promise.resolve());
    const other = queue.run({ name: 'b' }, { owner: 'b' });
    expect(await dropped).to.have.property('message', 'full');
    expect(await rejection(queue.run({ name: '6' }, { owner: 'a' }))).to.have.property('message', 'full');
    expect(await Promise.all([first, other])).to.deep.equal(['0', 'b']);
  });

  it('ends a task whose signal aborts, whether it waits or runs', async () => {
    open();
    const [running, waiting] = [new AbortController(), new AbortController()];
    const ended = [
      rejection(queue.run({ does: 'hang' }, { signal: running.signal })),
      rejection(queue.run({ name: 'waits' }, { signal: waiting.signal })),
    ];
    const next = queue.run({ name: 'next' });
    waiting.abort(new Error('left the queue'));
    running.abort(new Error('left the thread'));
    expect((await Promise.all(ended)).map(String)).to.deep.equal(['Error: left the thread', 'Error: left the queue']);
    expect(await next).to.equal('next');
  });

  it('goes on after a task that takes too long, fails, or cannot be sent', async () => {
    open({ timeoutMs: 2_000 });
    const lost = [queue.run({ does: 'hang' }), queue.run({ does: 'fail' }), queue.run({ name: (() => '') as never })];
    const failures = Promise.all(lost.map(rejection));
    expect(await queue.run({ name: 'next' })).to.equal('next');
    expect((await failures).map((error) => error instanceof Error)).to.deep.equal([true, true, true]);
  });

  it('starts a thread again after it was idle, and none once it is closed', async () => {
    open({ idleMs: 1 });
    expect(await queue.run({ name: 'one' })).to.equal('one');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await queue.run({ name: 'two' })).to.equal('two');
    await queue.close();
    expect(await rejection(queue.run({ name: 'three' }))).to.have.property('message', 'the threads are closed');
  });
});
