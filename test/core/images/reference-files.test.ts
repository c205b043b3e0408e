/** Input images that cannot be stored. */

import { expect } from 'chai';
import { createRecordingLogger } from 'mediagate/testing';
import { ReferenceFiles } from '../../../core/images/references.js';
import { GatewayError, systemClock } from '../../../core/runtime/index.js';
import { rejection } from '../../support/rejection.js';

const media = { bytes: new Uint8Array(8), contentType: 'image/png' };

describe('input images that cannot be stored', () => {
  async function failureOf(error: Error) {
    const storage = {
      async write() {
        throw error;
      },
      async delete() {},
    };
    const files = new ReferenceFiles({
      storage: storage as never,
      clock: systemClock,
      logger: createRecordingLogger(),
    });
    return rejection(files.store([{ media, param: 'image[0]' } as never]));
  }

  it('are a temporary error if the disk is full or the object store does not answer', async () => {
    for (const code of ['ENOSPC', 'EDQUOT', 'EROFS']) {
      const failure = await failureOf(Object.assign(new Error(code), { code }));
      expect(failure, code).to.include({ code: 'upstream_unavailable', retryable: true });
    }
    const away = new GatewayError('upstream_unavailable', 'The file storage cannot be used now.');
    expect(await failureOf(away)).to.include({ code: 'upstream_unavailable' });
  });

  it('are an error of the gateway otherwise', async () => {
    expect(await failureOf(new Error('a bug'))).to.include({ code: 'storage_error' });
  });
});
