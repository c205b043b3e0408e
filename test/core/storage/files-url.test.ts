/** The URL of an object store. */

import { expect } from 'chai';
import { readFilesUrl } from '../../../core/storage/files-s3.js';

describe('the URL of an object store', () => {
  it("contains the store's address and credentials", () => {
    const url = 's3://KEY:se%2Fcr%2Bet@objects.example:9000/pictures/a/b?region=eu-central-1&tls=off';
    expect(readFilesUrl(url)).to.deep.equal({
      endpoint: 'http://objects.example:9000/pictures',
      prefix: 'a/b/',
      region: 'eu-central-1',
      accessKeyId: 'KEY',
      secretAccessKey: 'se/cr+et',
      source: 'objstore_s3',
    });
  });

  it('recognizes R2 by its host, and fills in defaults', () => {
    expect(readFilesUrl('s3://KEY:SECRET@account.r2.cloudflarestorage.com/pictures')).to.deep.equal({
      endpoint: 'https://account.r2.cloudflarestorage.com/pictures',
      prefix: '',
      region: 'auto',
      accessKeyId: 'KEY',
      secretAccessKey: 'SECRET',
      source: 'objstore_r2',
    });
    expect(readFilesUrl('s3://KEY:SECRET@s3.example/pictures/')).to.include({ region: 'us-east-1', prefix: '' });
    expect(readFilesUrl('s3://K:S@r2.cloudflarestorage.com.example/b2b')).to.include({ source: 'objstore_s3' });
  });

  it('is refused if any part is wrong, without being repeated', () => {
    const wrong = [
      'canary',
      's3://canary',
      'http://KEY:canary@host/bucket',
      's3://canary@host/bucket',
      's3://:canary@host/bucket',
      's3://KEY:canary@host',
      's3://KEY:canary@host/',
      's3://KEY:can/ary@host/bucket',
      's3://KEY:can%ary@host/bucket',
      's3://KEY:canary@host/b',
      's3://KEY:canary@host/bucket/two%20words',
      's3://KEY:canary@host/bucket?regoin=eu',
      's3://KEY:canary@host/bucket?region=',
      's3://KEY:canary@host/bucket?tls=no',
      's3://KEY:canary@host/bucket#canary',
    ];
    for (const url of wrong) {
      try {
        readFilesUrl(url);
        expect.fail(`${url} was taken`);
      } catch (error) {
        expect(error, url).to.include({ code: 'invalid_value', param: 'filesUrl' });
        expect(String(error), url).not.to.contain('canary');
      }
    }
  });
});
