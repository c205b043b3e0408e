/** The scan of an image answer while it arrives. */

import { expect } from 'chai';
import fc from 'fast-check';
import { openaiUsage } from 'mediagate/plugin';
import { AnswerScan, eventsOf, findImage, findSeed, type ScannedAnswer } from '../answer.js';

function scan(text: string, pieceLength = text.length): ScannedAnswer {
  const reader = new AnswerScan();
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += pieceLength) reader.push(bytes.subarray(from, from + pieceLength));
  return reader.end();
}

const answer = (b64: string) => `{"created":1,"data":[{"b64_json":"${b64}"}],"usage":{"total_tokens":7}}`;

async function* toStream(pieces: readonly Uint8Array[]) {
  yield* pieces;
}

async function allEventsOf(pieces: readonly Uint8Array[]): Promise<ScannedAnswer[]> {
  const events: ScannedAnswer[] = [];
  for await (const event of eventsOf(toStream(pieces))) events.push(event);
  return events;
}

describe('openai_image: reading an answer piece by piece', () => {
  it('returns what JSON.parse and a base64 decoder return, in pieces of any size', () => {
    const texts = fc.string({ unit: fc.constantFrom('"', '\\', 'b64_json', ':', '{', 'é', '漢', ' ', '\n') });
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        texts,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(0, 2),
        (image, revised, pieceLength, space) => {
          const data = [{ revised_prompt: revised, b64_json: Buffer.from(image).toString('base64') }];
          const { json, images } = scan(JSON.stringify({ created: 1, data }, null, space), pieceLength);
          expect(json).to.deep.equal({ created: 1, data: [{ revised_prompt: revised, b64_json: 0 }] });
          expect(images[0]?.equals(image)).to.equal(true);
        },
      ),
    );
  });

  it('reads base64 with escaped slashes, with line breaks, without padding, and in a data URI', () => {
    const bytes = Buffer.from('//8/?+\xff\xfe', 'latin1');
    const plain = bytes.toString('base64');
    const forms = [
      plain.replaceAll('/', '\\/'),
      plain.replace(/(.{3})/g, '$1\\r\\n'),
      plain.replace(/=+$/, ''),
      `data:image/png;base64,${plain}`,
    ];
    for (const form of forms) {
      for (const pieceLength of [1, 7, 1000]) {
        expect(scan(answer(form), pieceLength).images[0]?.equals(bytes), form).to.equal(true);
      }
    }
  });

  it('finds damage anywhere in base64', () => {
    const whole = Buffer.alloc(600, 7).toString('base64');
    for (const at of [0, 300, 799]) {
      const damaged = `${whole.slice(0, at)}*${whole.slice(at + 1)}`;
      expect(findImage(scan(answer(damaged), 64)), `at ${at}`).to.equal(undefined);
    }
    expect(findImage(scan(answer('AAA=AAAA')))).to.equal(undefined);
    expect(findImage(scan(answer('A')))).to.equal(undefined);
  });

  it('refuses cut, invalid and endless answers', () => {
    const whole = answer(Buffer.alloc(90).toString('base64'));
    for (let length = 0; length < whole.length; length++)
      expect(() => scan(whole.slice(0, length))).to.throw(SyntaxError);
    expect(() => scan('<!doctype html>')).to.throw(SyntaxError);
    expect(() => scan(`[${'0,'.repeat(600_000)}0]`, 65_536)).to.throw(SyntaxError);
  });

  it('finds the image, its address, or neither', () => {
    expect(findImage(scan('{"data":[{"url":"https://files.example/1.png"},{"url":"b"}]}'))).to.deep.equal({
      url: 'https://files.example/1.png',
    });
    for (const text of [
      '{}',
      '[]',
      '{"data":[]}',
      '{"data":[{"b64_json":null}]}',
      '{"data":[{"b64_json":""}]}',
      '{"data":[{"b64_json":0}]}',
    ]) {
      expect(findImage(scan(text)), text).to.equal(undefined);
    }
  });

  it('reads the events of a stream in pieces of any size', async () => {
    const image = Buffer.from('an image of some bytes').toString('base64');
    const event = (type: string) => `event: ${type}\r\ndata: ${JSON.stringify({ type, b64_json: image })}\r\n\r\n`;
    const text = `: hello\n\n${event('one')}data:${JSON.stringify({ type: 'two', b64_json: image })}\n\ndata: [DONE]\n\ndata:\n`;
    for (let length = 1; length <= text.length; length += 1) {
      const bytes = Buffer.from(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
        bytes.subarray(index * length, (index + 1) * length),
      );
      const events = await allEventsOf(pieces);
      expect(
        events.map(({ json }) => (json as { type: string }).type),
        `${length}`,
      ).to.deep.equal(['one', 'two']);
      for (const one of events) expect(findImage(one)).to.deep.equal({ bytes: Buffer.from('an image of some bytes') });
    }
    const cut = await allEventsOf([Buffer.from('data: {"b64_json":"abc')]).catch((error: unknown) => error);
    expect(cut).to.be.instanceOf(SyntaxError);
  });

  it('finds a seed beside the image, or beside the list', () => {
    expect(findSeed(scan('{"data":[{"b64_json":"","seed":7}],"seed":8}'))).to.equal(7);
    expect(findSeed(scan('{"data":[{"b64_json":""}],"seed":0}'))).to.equal(0);
    expect(findSeed(scan('{"data":[{"seed":"7"}],"seed":1.5}'))).to.equal(undefined);
  });

  it('reads usage only if it is reported', () => {
    const usage = { input_tokens: 3, output_tokens: -1, total_tokens: 1.5, input_tokens_details: { cached_tokens: 0 } };
    expect(openaiUsage({ usage })).to.deep.equal({ inputTokens: 3, cachedTokens: 0 });
    const details = {
      input_tokens_details: { text_tokens: 21, image_tokens: 323 },
      output_tokens_details: { text_tokens: 0, image_tokens: 1056 },
    };
    expect(openaiUsage({ usage: details })).to.deep.equal({
      inputTextTokens: 21,
      inputImageTokens: 323,
      outputTextTokens: 0,
      outputImageTokens: 1056,
    });
    for (const json of [{}, { usage: null }, { usage: {} }, null]) expect(openaiUsage(json)).to.equal(undefined);
  });
});
