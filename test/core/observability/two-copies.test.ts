/** Scopes of work with a second copy of the plugin package. */

import { expect } from 'chai';
import { currentScope, runInScope } from '../../../core/observability/index.js';

describe("scopes of work with a plugin's own copy of the building blocks", () => {
  it('are the same in both copies', async () => {
    const address = new URL('../../../core/observability/spans.js?copy', import.meta.url).href;
    const copy: { currentScope: typeof currentScope } = await import(address);
    expect(copy.currentScope).not.to.equal(currentScope);
    expect(runInScope({ requestId: 'request-1' }, copy.currentScope)).to.deep.equal({ requestId: 'request-1' });
    expect(copy.currentScope()).to.equal(undefined);
  });
});
