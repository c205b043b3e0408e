import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { checkRoom } from '../../server/data-folder.js';
import { rejection } from '../support/rejection.js';

describe('checkRoom', () => {
  it('is content with a folder that has room, and not with one that has too little or is gone', async () => {
    await checkRoom(tmpdir(), 1);
    expect(String(await rejection(checkRoom(tmpdir(), Number.MAX_SAFE_INTEGER)))).to.contain('bytes are free');
    expect(await rejection(checkRoom(path.join(tmpdir(), 'not-there')))).to.have.property('code', 'ENOENT');
  });
});
