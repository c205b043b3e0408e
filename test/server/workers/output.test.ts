/** The lines of workers in the output of their supervisor. */

import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { copyLines } from '../../../server/workers/output.js';

describe('output of workers', () => {
  it('is copied in whole lines, so that two of them do not mix', async () => {
    const [one, two, to] = [new PassThrough(), new PassThrough(), new PassThrough()];
    copyLines(one, to);
    copyLines(two, to);
    one.write('first of one\nsecond');
    await turn();
    two.write('first of two\n');
    await turn();
    one.write(' of one\n');
    one.end('rest of one');
    await turn();
    expect(String(to.read())).to.equal('first of one\nfirst of two\nsecond of one\nrest of one');
  });
});
