/** Replies that the kit alters: reassembly, pruning and another item. */

import { expect } from 'chai';
import { withDecoys } from '../../../core/testing/decoys.js';
import type { Exchange } from '../../../core/testing/index.js';
import { pruneReply, seededRandom } from '../../../core/testing/pruning.js';
import { putTogether, takeApart } from '../../../core/testing/reply-parts.js';

const ID = '7670000000000000001';

function exchangeOf(body: string): Exchange {
  const url = new URL(`https://t.example/${ID}`);
  return { name: 'GET', method: 'GET', url, bodyIncludes: [], status: 200, headers: {}, body: Buffer.from(body) };
}

const decoyed = (body: string) => {
  const reply = withDecoys(takeApart(exchangeOf(body)), [ID, 'alias']);
  return { decoys: reply.decoys, body: putTogether(reply).body.toString() };
};

describe('altered replies', () => {
  const page = [
    '<html><head><title>A page</title><meta property="og:title" content="A &amp; B"></head><body>',
    `<script>var data = {"id":"${ID}","n":[1,2]};var more = {"a":1};</script>`,
    '<script type="application/json">[{"text":"{\\"inner\\":[1]}"}]</script><script>if (a) {b()}</script></body></html>',
  ].join('\n');

  it('are reassembled unchanged', () => {
    const reply = takeApart(exchangeOf(page));
    const texts = reply.parts.map(({ text }) => text);
    expect(putTogether(reply, texts).body.toString()).to.equal(page);
    expect(reply.parts.filter(({ kind }) => kind === 'json').map(({ text }) => text)).to.deep.equal([
      `{"id":"${ID}","n":[1,2]}`,
      '{"a":1}',
      '[{"text":"{\\"inner\\":[1]}"}]',
    ]);
    expect(reply.parts.filter(({ kind }) => kind === 'tag')).to.have.length(2);
  });

  it('are pruned equally with the same seed, in bounded time', () => {
    const reply = takeApart(exchangeOf(page));
    const prunings = (first: number) =>
      Array.from({ length: 300 }, (_, index) =>
        pruneReply(reply, seededRandom(first + index)).exchange.body.toString(),
      );
    const bodies = prunings(1);
    expect(prunings(1)).to.deep.equal(bodies);
    expect(bodies.filter((body) => body === page).length, 'unchanged').to.be.below(5);
    const gone = [`"id":"${ID}"`, '"n":', '"a":1', '"text":', 'inner', '<title>A page</title>', 'A &amp; B'];
    for (const text of gone) expect(bodies.filter((body) => !body.includes(text)).length, text).to.be.above(3);
    // What stood around them is still there, and what is left is still JSON.
    for (const body of bodies) {
      expect(body).to.include('<script>if (a) {b()}</script></body></html>');
      expect(() => JSON.parse(/json">(.*?)<\/script>/.exec(body)?.[1] ?? '')).to.not.throw();
    }
  });

  it('list what was replaced', () => {
    const reply = takeApart(exchangeOf('{"views":51234}'));
    const spoiled = Array.from({ length: 100 }, (_, seed) => pruneReply(reply, seededRandom(seed * 7919)));
    for (const { exchange, spoils } of spoiled) {
      const { views } = JSON.parse(exchange.body.toString()) as { views?: unknown };
      expect(spoils).to.deep.equal(views === undefined ? [] : [views]);
      expect(typeof views === 'number' && views >= 0, 'no number that could pass').to.equal(false);
    }
  });
});

describe('a foreign item', () => {
  const feedback = Buffer.from(`feedback:${ID}`).toString('base64');

  it('is added before and after the requested one in a list', () => {
    const { decoys, body } = decoyed(`{"items":[{"id":"${ID}","kind":8,"views":51234,"text":"12,345 views"}]}`);
    expect(decoys).to.equal(2);
    const { items } = JSON.parse(body);
    expect(items.map(({ id }: { id: string }) => id === ID)).to.deep.equal([false, true, false]);
    expect(items[0]).to.deep.equal(items[2]);
    expect(items[0]).to.deep.include({ kind: 8, views: 61_234, text: '23,445 views' });
    expect(items[1]).to.deep.include({ views: 51_234, text: '12,345 views' });
  });

  it('is added under a name of its own to a record, with other ids in code', () => {
    const { decoys, body } = decoyed(`{"story":{"post_id":"${ID}","feedback":{"id":"${feedback}","n":900}}}`);
    expect(decoys).to.equal(1);
    const { story, other_story: other } = JSON.parse(body);
    expect(Object.keys(JSON.parse(body))).to.deep.equal(['other_story', 'story']);
    expect(story.feedback).to.deep.equal({ id: feedback, n: 900 });
    expect(Buffer.from(other.feedback.id, 'base64').toString()).to.match(/^feedback:\d{19}$/);
    expect([other.post_id === ID, other.feedback.id === feedback, other.feedback.n]).to.deep.equal([false, false, 100]);
  });

  it('is added inside an answer that is the item, and in JSON within JSON', () => {
    expect(JSON.parse(decoyed(`{"id":"${ID}","views":51234}`).body).other).to.deep.include({ views: 61_234 });
    const inner = JSON.stringify({ list: [{ id: ID }] });
    const { decoys, body } = decoyed(JSON.stringify({ data: inner, id: 'x' }));
    expect(decoys).to.equal(2);
    expect(JSON.parse(JSON.parse(body).data).list).to.have.length(3);
  });

  it('is added beside a record with another of its ids', () => {
    const { decoys, body } = decoyed('<script>f("x", {"page":{"name":"alias","n":500}});</script>');
    expect(decoys).to.equal(1);
    expect(body).to.include('f("x", {"other_page":{"name":"alias","n":600},"page":{"name":"alias","n":500}});');
  });

  it('is linked at the end of a page without data', () => {
    const { decoys, body } = decoyed(
      `<html><head><meta property="og:url" content="/${ID}"></head><p>51,234 likes</p></html>`,
    );
    expect(decoys).to.equal(1);
    expect(body).to.match(/<\/html><div><a href="https:\/\/t\.example\/6700000000000000017">23,445 views<\/a>/);
    expect(body.match(/<meta/g)).to.have.length(1);
  });

  it('is not added if a reply does not name the item', () => {
    const { decoys, body } = decoyed('<html><p>nothing</p></html>');
    expect([decoys, body]).to.deep.equal([0, '<html><p>nothing</p></html>']);
  });
});
