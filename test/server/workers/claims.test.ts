/** Work that one worker does for all: who has it, who waits, and what becomes of it when a worker ends. */

import { expect } from 'chai';
import { type Claimant, Claims } from '../../../server/workers/claims.js';
import type { SupervisorMessage } from '../../../server/workers/messages.js';

/** A worker, and what it was sent. */
function createWorker(): Claimant & { sent: SupervisorMessage[] } {
  const sent: SupervisorMessage[] = [];
  return { sent, send: (message) => void sent.push(message) };
}

describe('claims of workers', () => {
  it('go to the first worker, and the others get what it left', () => {
    const [first, second, third] = [createWorker(), createWorker(), createWorker()];
    const claims = new Claims();
    claims.claim(first, { claim: 1, name: 'link' });
    claims.claim(second, { claim: 7, name: 'link' });
    claims.claim(third, { claim: 3, name: 'another' });
    claims.release(second, { name: 'link', left: 'nothing of its own' });
    expect(second.sent).to.deep.equal([]);
    claims.release(first, { name: 'link', left: 'result' });
    claims.claim(second, { claim: 8, name: 'link' });
    expect(first.sent).to.deep.equal([{ type: 'claimed', claim: 1, name: 'link', isMine: true }]);
    expect(second.sent).to.deep.equal([
      { type: 'claimed', claim: 7, name: 'link', isMine: false, left: 'result' },
      { type: 'claimed', claim: 8, name: 'link', isMine: true },
    ]);
    expect(third.sent).to.deep.equal([{ type: 'claimed', claim: 3, name: 'another', isMine: true }]);
  });

  it('of a worker that ends are free, and who waits for them hears it', () => {
    const [first, second, third] = [createWorker(), createWorker(), createWorker()];
    const claims = new Claims();
    claims.claim(first, { claim: 1, name: 'link' });
    claims.claim(second, { claim: 1, name: 'link' });
    claims.claim(third, { claim: 1, name: 'link' });
    claims.forget(second);
    claims.forget(first);
    claims.claim(third, { claim: 2, name: 'link' });
    expect(second.sent).to.deep.equal([]);
    expect(third.sent).to.deep.equal([
      { type: 'claimed', claim: 1, name: 'link', isMine: false, left: undefined },
      { type: 'claimed', claim: 2, name: 'link', isMine: true },
    ]);
  });
});
