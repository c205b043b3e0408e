/** How a GatewayError cleans the message of a platform. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';

const reasonOf = (reason: string) => new GatewayError('private', 'The item is private.', { reason }).reason ?? '';

describe('GatewayError', () => {
  it("reduces the platform's message to one line of well-formed text of at most 300 characters", () => {
    expect(reasonOf(' Sign in\u0000\n to\u2028see ')).to.equal('Sign in  to see');
    expect(reasonOf('\ud800 gone \udc00')).to.equal('\ufffd gone \ufffd');
    const cut = reasonOf(`${'a'.repeat(298)}${'\u{1f600}'.repeat(5)}`);
    expect(cut).to.have.length(300);
    expect(cut.isWellFormed()).to.equal(true);
  });
});
