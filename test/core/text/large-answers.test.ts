/** Large answers of models, read in a thread. */

import { expect } from 'chai';
import { AnswerBytes, readLargeAnswer, readWholeAnswer } from '../../../core/text/whole/whole-answers.js';
import { rejection } from '../../support/rejection.js';

const MB = 1024 * 1024;
const modelText = Buffer.from('"public-name"');
const usage = { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 };

/** In chunks as the event loop takes them. */
function bytesOf(text: string | Buffer): AnswerBytes {
  const whole = Buffer.from(text);
  const bytes = new AnswerBytes();
  for (let at = 0; at < whole.length; at += 8_192) bytes.add(whole.subarray(at, at + 8_192));
  return bytes;
}

const read = (text: string | Buffer, isResponse = false) =>
  readLargeAnswer(bytesOf(text), { modelText, isResponse, isSampled: true });

const vectors = (count: number, more: object = { usage }) =>
  JSON.stringify({ object: 'list', model: 'v', data: Array(count).fill(-0.0123456), ...more });

describe('large answers', () => {
  it('equal answers that are read at once, byte for byte', async () => {
    const output = [{ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'x'.repeat(300_000) }] }];
    const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'v', output, usage };
    const answers = [
      { text: vectors(100_000), isResponse: false },
      { text: vectors(100_000, {}), isResponse: false },
      { text: JSON.stringify(response), isResponse: true },
      { text: JSON.stringify({ ...response, status: 'in_progress', usage: null }), isResponse: true },
      { text: `{"error":{"message":"no"},"filler":"${' '.repeat(300_000)}"}`, isResponse: false },
    ];
    for (const { text, isResponse } of answers) {
      const { sample, refusal, ...expected } = readWholeAnswer(
        Buffer.from(text),
        { modelText, plainWords: (words) => words },
        isResponse,
      );
      const large = await read(text, isResponse);
      const { sample: sampled, refusal: refused, ...rest } = large;
      expect(rest.body.equals(expected.body)).to.equal(true);
      expect({ ...rest, body: '' }).to.deep.equal({ ...expected, body: '' });
      expect(refused?.code).to.equal(refusal?.code);
      if (!expected.usage) expect(sampled()).to.deep.equal(sample());
    }
  });

  it('do not block the event loop while they are read', async () => {
    const bytes = bytesOf(vectors(Math.floor((31 * MB) / 11)));
    let turns = 0;
    let isRead = false;
    const reading = readLargeAnswer(bytes, { modelText, isResponse: false, isSampled: true });
    reading.then(() => {
      isRead = true;
    });
    while (!isRead) {
      turns += 1;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect((await reading).usage).to.include({ inputTokens: 5, outputTokens: 9 });
    // Read at once, it is read within one turn.
    expect(turns).to.be.above(10);
  });

  it('are refused if they are not JSON', async () => {
    for (const text of [' '.repeat(MB), `${vectors(100_000)}{}`, vectors(100_000).slice(0, -1)]) {
      const refused = await rejection(read(text));
      expect(refused).to.include({ code: 'upstream_error', message: 'The model did not answer with JSON.' });
    }
  });

  it("hide the upstream's own fields", async () => {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'x'.repeat(300_000) }] }];
    const error = { code: 'server_error', message: 'http://10.0.0.7 broke' };
    const { body } = await read(JSON.stringify({ id: 'resp_1', status: 'failed', error, output, model: 'v' }), true);
    expect(body.includes('10.0.0.7')).to.equal(false);
    expect(JSON.parse(body.toString()).error.code).to.equal('server_error');
  });

  it('are estimated by their beginning if they are cut', () => {
    const text = `{"choices":[{"index":0,"message":{"role":"assistant","content":"${'word '.repeat(MB)}`;
    const sample = bytesOf(text).sample(false);
    expect(sample.text.length).to.be.within(16_000, 64 * 1024);
    expect(sample.text.length * sample.scale).to.be.closeTo(5 * MB, 200_000);
    const blank = bytesOf(Buffer.alloc(8 * MB, ' ')).sample(false);
    expect(blank.text).to.equal('');
    const values = bytesOf(vectors(MB).slice(0, -20)).sample(false);
    expect(values.text.length * values.scale).to.be.closeTo(11 * MB, MB);
  });

  it('have the same estimate after the thread received them', async () => {
    const text = `{"choices":[{"index":0,"message":{"role":"assistant","content":"${'word '.repeat(MB)}"}}]}`;
    const bytes = bytesOf(text);
    const before = bytes.sample(false);
    await readLargeAnswer(bytes, { modelText, isResponse: false, isSampled: false });
    expect(bytes.sample(false)).to.deep.equal(before);
  });
});
