/** The bound on incomplete events over all streams. */

import { expect } from 'chai';
import { EventRewriter } from '../../../core/text/streams/events.js';
import { ChatEvents } from '../../../core/text/streams/usage-events.js';

const MEGABYTE = 1024 * 1024;

function rewriter() {
  const reader = new ChatEvents({ requestId: 'r', dropUsage: false });
  return new EventRewriter(reader, { modelText: Buffer.from('"m"'), plainWords: (words) => words });
}

describe('incomplete events of all streams together', () => {
  it('are bounded: a stream with a large one ends, others continue, and ended ones do not count', () => {
    const large = Buffer.from(`data: {"x":"${'x'.repeat(20 * MEGABYTE)}`);
    const streams = Array.from({ length: 6 }, rewriter);
    for (const stream of streams) expect(stream.push(large)).to.equal(undefined);
    const last = rewriter();
    expect(() => last.push(large)).to.throw(RangeError, 'all streams');
    last.close();
    const usual = rewriter();
    expect(usual.push(Buffer.from('data: {"choices":[]}\n\ndata: {"cho'))?.toString()).to.equal(
      'data: {"choices":[]}\n\n',
    );
    for (const stream of [...streams, usual]) stream.close();
    const next = rewriter();
    expect(next.push(large)).to.equal(undefined);
    next.close();
  });
});
