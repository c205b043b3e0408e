/** Reservations of token budgets, and limits for upstreams. */

import { expect } from 'chai';
import { samplePrompt } from '../../../core/text/counting/samples.js';
import { TokenCounter } from '../../../core/text/counting/tokens.js';
import { demandOf, limitOutput } from '../../../core/text/requests.js';

const MODEL = { id: 'm-5.5', routes: ['chat_completions', 'responses'], efforts: [] } as const;
const NO_INPUT = { input: 10, namesFiles: false };

function limited(
  text: string,
  output: number,
  field?: string,
  route: 'chat_completions' | 'responses' = 'chat_completions',
) {
  const { body, parsed } = limitOutput(Buffer.from(text), JSON.parse(text), { route, output, field });
  const sent = Buffer.from(body).toString();
  expect(JSON.parse(sent)).to.deep.equal(parsed);
  return sent;
}

describe('reservation of a token budget', () => {
  it("is the request's own maximum output, or the model's, for each choice", () => {
    const demand = (parsed: object, model: object = {}) =>
      demandOf({ ...parsed }, 'chat_completions', { ...MODEL, ...model }, NO_INPUT);
    expect(demand({})).to.include({ input: 10, hiddenInput: 0, output: 16_384, minOutput: 256, choices: 1 });
    expect(demand({ n: 3 }, { maxOutputTokens: 4_000 })).to.include({ output: 12_000, minOutput: 768, choices: 3 });
    expect(demand({ max_tokens: 100, n: 2 })).to.include({ output: 200, minOutput: 200 });
    expect(demand({ max_tokens: 100, max_completion_tokens: 700 })).to.include({ output: 700 });
    expect(demand({ max_tokens: '100' })).to.include({ output: 16_384 });
  });

  it('includes input that the gateway cannot see', () => {
    const of = (parsed: object) => demandOf({ ...parsed }, 'responses', MODEL, NO_INPUT).hiddenInput;
    expect(of({ previous_response_id: 'resp_1' })).to.equal(131_072);
    expect(of({ previous_response_id: null })).to.equal(0);
    const { namesFiles } = samplePrompt({
      input: [{ content: [{ type: 'input_file', file_url: 'https://a.example/b' }] }],
    });
    expect(demandOf({}, 'responses', MODEL, { input: 1, namesFiles }).hiddenInput).to.equal(131_072);
  });

  it('counts messages, names and images of the input', async () => {
    const counter = new TokenCounter();
    const count = (content: unknown) => counter.countInput(samplePrompt({ messages: [{ role: 'user', content }] }));
    try {
      const text = await count('Hello world, this is a tug.');
      expect(text).to.be.within(8 + 16, 8 + 16 + 20);
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } };
      expect(await count([image])).to.be.within(4_096, 4_200);
      const long = {
        text: 'a tug '.repeat(100),
        messages: 0,
        otherTokens: 0,
        listedTokens: 0,
        namesFiles: false,
        holdsFiles: false,
      };
      const whole = await counter.countInput({ ...long, scale: 1 });
      expect(await counter.countInput({ ...long, scale: 2 })).to.equal(Math.ceil(whole * 2 * 1.25));
      await counter.close();
      // Nothing counts any more: a token has at least one byte.
      expect(await counter.countInput({ ...long, scale: 1 })).to.equal(600);
    } finally {
      await counter.close();
    }
  });
});

describe('the token limit that is sent to an upstream', () => {
  it('is added to the bytes of a body without one', () => {
    expect(limited('{ "n":1 , "seed":12345678901234567 }', 300)).to.equal(
      '{ "n":1 , "seed":12345678901234567 ,"max_completion_tokens":300}',
    );
    expect(limited('{"input":"a"}', 300, undefined, 'responses')).to.equal('{"input":"a","max_output_tokens":300}');
  });

  it('replaces a larger or invalid maximum in place', () => {
    expect(limited('{"max_tokens":900,"n":2}', 600)).to.equal('{"max_tokens":300,"n":2}');
    expect(limited('{"max_tokens":9,"max_tokens":100}', 600)).to.equal('{"max_tokens":100,"max_tokens":100}');
    expect(limited('{"max_completion_tokens":null,"max_tokens":-1}', 600)).to.equal(
      '{"max_completion_tokens":600,"max_tokens":600}',
    );
  });

  it('counts and replaces the alternative fields of some servers', () => {
    const route = 'chat_completions';
    for (const name of ['n_predict', 'num_predict', 'max_tokens_to_sample', 'max_new_tokens', 'maxOutputTokens']) {
      expect(demandOf({ [name]: 90_000 }, route, MODEL, NO_INPUT).output, name).to.equal(90_000);
      expect(limited(`{"${name}":90000}`, 300), name).to.equal(`{"${name}":300,"max_completion_tokens":300}`);
      expect(limited(`{"max_tokens":5,"${name}":-1}`, 300), name).to.equal(`{"max_tokens":5,"${name}":300}`);
    }
    expect(demandOf({ options: { num_predict: 70_000 } }, route, MODEL, NO_INPUT).output).to.equal(70_000);
    expect(limited('{"max_tokens":9,"options":{"num_predict":70000,"seed":1}}', 300)).to.equal(
      '{"max_tokens":9,"options":{"num_predict":300,"seed":1}}',
    );
    expect(limited('{"max_tokens":9,"extra_body":{"options":{"num_predict":70000}}}', 300)).to.equal(
      '{"max_tokens":9,"extra_body":{"options":{"num_predict":300}}}',
    );
    expect(limited('{"max_tokens":9000,"input":"a"}', 300, undefined, 'responses')).to.equal(
      '{"max_tokens":300,"input":"a","max_output_tokens":300}',
    );
    expect(demandOf({ best_of: 4, max_tokens: 1_000 }, route, MODEL, NO_INPUT)).to.include({ output: 4_000 });
    expect(limited('{"best_of":4,"max_tokens":1000}', 2_000)).to.equal('{"best_of":4,"max_tokens":500}');
  });

  it('is also written to the field that the provider names', () => {
    expect(limited('{"max_completion_tokens":100}', 100, 'max_tokens')).to.equal(
      '{"max_completion_tokens":100,"max_tokens":100}',
    );
    expect(limited('{}', 300, 'n_predict')).to.equal('{"n_predict":300}');
  });
});
