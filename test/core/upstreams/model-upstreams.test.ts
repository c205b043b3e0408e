/** Upstreams of model vendors: configuration and choice. */

import { expect } from 'chai';
import { createUpstreams, GatewayError, openaiError, openaiUsage, resumeBody, TryFailure } from 'mediagate/plugin';
import { createManualClock, createRecordingLogger } from 'mediagate/testing';

describe('upstreams of model vendors', () => {
  for (const [status, error, about] of [
    [429, { type: 'insufficient_quota' }, 'account'],
    [400, { code: 'unknown_model' }, 'model'],
    [400, { code: 'content_policy_violation' }, 'moderation'],
    [403, { message: 'Rejected by our safety system.' }, 'moderation'],
    [400, { code: '', type: 'image_generation_user_error' }, 'moderation'],
    [500, { code: 'content_filter' }, 'upstream'],
    [422, { code: 'anything' }, 'request'],
    [400, null, 'request'],
    [403, 'a text', 'upstream'],
    [429, { code: 'rate_limit_exceeded' }, 'upstream'],
  ] as const) {
    it(`reads ${status} with ${JSON.stringify(error)} as an error about the ${about}`, () => {
      expect(openaiError({ status, headers: {}, json: { error } }).about).to.equal(about);
    });
  }

  it('reads only possible counts', () => {
    const usage = { input_tokens: 3, output_tokens: -1, total_tokens: 1.5, seconds: 0.5 };
    const details = { input_tokens_details: { image_tokens: 2, text_tokens: 'many' } };
    expect(openaiUsage({ usage: { ...usage, ...details } })).to.deep.equal({
      inputTokens: 3,
      inputImageTokens: 2,
      seconds: 0.5,
    });
    expect(openaiUsage({ usage: { total_tokens: -1 } })).to.equal(undefined);
  });

  it('logs a failed try under the name of its upstream, and asks the next one', async () => {
    const logger = createRecordingLogger();
    const clock = createManualClock();
    const limits = { budgetMs: 1_000, names: ['first', 'second'] };
    const upstreams = createUpstreams({ upstreams: ['a', 'b'], clock, logger, ...limits });
    const answer = await upstreams.run({
      model: 'm',
      signal: new AbortController().signal,
      lost: 'nowhere',
      async ask(upstream) {
        const error = new GatewayError('upstream_error', 'It failed.');
        if (upstream === 'a') throw new TryFailure(error, { again: 'elsewhere', counts: true });
        return upstream;
      },
    });
    expect(answer).to.equal('b');
    expect(logger.lines.map(({ fields }) => fields?.member)).to.deep.equal(['first']);
    expect(upstreams.states().map(({ name, failures }) => [name, failures])).to.deep.equal([
      ['first', 1],
      ['second', 0],
    ]);
  });

  it('continues a body after its first chunk, and ends its source without being read', async () => {
    let isEnded = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from('a');
        yield Buffer.from('b');
      } finally {
        isEnded = true;
      }
    }
    const read = source();
    const chunks: string[] = [];
    for await (const chunk of resumeBody(read.next(), read)) chunks.push(Buffer.from(chunk).toString());
    expect(chunks).to.deep.equal(['a', 'b']);

    isEnded = false;
    const unread = source();
    await resumeBody(await unread.next(), unread).return?.();
    expect(isEnded).to.equal(true);
  });
});
