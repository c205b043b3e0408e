/** Questions of one worker to the others, and what is remembered of those that have ended. */

import { expect } from 'chai';
import { addEndedSamples } from '../../../server/observability/ended-samples.js';
import type { SupervisorMessage } from '../../../server/workers/messages.js';
import { type Asked, Questions } from '../../../server/workers/questions.js';

/** A worker, and what it was sent. */
function createWorker(): Asked & { sent: SupervisorMessage[] } {
  const sent: SupervisorMessage[] = [];
  return { sent, send: (message) => void sent.push(message) };
}

const sum = (_topic: string, before: unknown, last: unknown) =>
  ((before as number | undefined) ?? 0) + (last as number);

describe('requests between workers', () => {
  it('return the answers of all others', () => {
    const [asker, one, two] = [createWorker(), createWorker(), createWorker()];
    const questions = new Questions(sum);
    questions.ask(asker, { question: 7, topic: 'count', own: 1 }, [one, two]);
    expect(one.sent).to.deep.equal([{ type: 'asked', question: 1, topic: 'count' }]);
    questions.answer(two, 1, 20);
    questions.answer(one, 1, 10);
    questions.answer(one, 1, 11);
    expect(asker.sent).to.deep.equal([
      { type: 'answers', question: 7, answers: { running: [20, 10], ended: undefined } },
    ]);
  });

  it('do not wait for a worker that ends, and include the last answers of ended ones', () => {
    const [asker, one, two] = [createWorker(), createWorker(), createWorker()];
    const questions = new Questions(sum);
    questions.ask(asker, { question: 1, topic: 'count', own: 1 }, [one, two]);
    questions.answer(one, 1, 10);
    questions.forget(two);
    questions.remember(one, 'count', 12);
    questions.forget(one);
    const last = createWorker();
    questions.forget(asker);
    questions.ask(last, { question: 2, topic: 'count', own: 0 }, []);
    expect(asker.sent).to.deep.equal([{ type: 'answers', question: 1, answers: { running: [10], ended: undefined } }]);
    expect(last.sent).to.deep.equal([{ type: 'answers', question: 2, answers: { running: [], ended: 13 } }]);
  });
});

describe('samples of ended workers', () => {
  it('add up counters and histograms by series, without gauges', () => {
    const counter = (value: number, labels: Record<string, string> = { route: '/v1' }) => ({
      name: 'requests',
      type: 'counter',
      values: [{ value, labels }],
    });
    const histogram = (value: number) => ({
      name: 'seconds',
      type: 'histogram',
      values: [
        { value, labels: { le: 1, route: '/v1' }, metricName: 'seconds_bucket' },
        { value: value * 2, labels: { route: '/v1' }, metricName: 'seconds_sum' },
      ],
    });
    const gauge = { name: 'open', type: 'gauge', values: [{ value: 3, labels: {} }] };
    const first = addEndedSamples(undefined, [counter(2), histogram(1), gauge]);
    expect(addEndedSamples(first, [counter(3), counter(5, { route: '/v2' }), histogram(4)])).to.deep.equal([
      {
        name: 'requests',
        type: 'counter',
        values: [
          { value: 5, labels: { route: '/v1' } },
          { value: 5, labels: { route: '/v2' } },
        ],
      },
      {
        name: 'seconds',
        type: 'histogram',
        values: [
          { value: 5, labels: { le: 1, route: '/v1' }, metricName: 'seconds_bucket' },
          { value: 10, labels: { route: '/v1' }, metricName: 'seconds_sum' },
        ],
      },
    ]);
  });
});
