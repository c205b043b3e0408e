/** Data URIs of images: which are decoded and which are refused. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { decodeDataUri, isDataUri } from '../../../core/images/references.js';
import type { GatewayError } from '../../../core/runtime/errors.js';

function verdict(uri: string): string {
  try {
    return Buffer.from(decodeDataUri(uri)).toString('latin1');
  } catch (error) {
    return (error as GatewayError).code;
  }
}

describe('data URI of an image', () => {
  it('returns its bytes for any media type', () => {
    for (const label of [
      'image/png',
      'image/jpeg',
      'IMAGE/PNG',
      'image/svg+xml',
      'image/x-own.kind',
      'image/png;charset=utf-8',
    ]) {
      expect(verdict(`data:${label};base64,aGVsbG8=`), label).to.equal('hello');
    }
    expect(verdict('DATA:image/png;BASE64,aGVsbG8=')).to.equal('hello');
    expect(verdict('data:image/png;base64,aGVsbG8'), 'without padding').to.equal('hello');
    expect(verdict('data:image/png;base64,')).to.equal('');
    for (let length = 0; length < 50; length += 1) {
      const bytes = randomBytes(length);
      expect(bytes.equals(decodeDataUri(`data:image/png;base64,${bytes.toString('base64')}`))).to.equal(true);
    }
  });

  it('is refused in any other form', () => {
    const wrong = [
      'data:image/png,aGVsbG8=',
      'data:image/png;base64;aGVsbG8=',
      'data:;base64,aGVsbG8=',
      'data:text/html;base64,aGVsbG8=',
      'data:image/;base64,aGVsbG8=',
      `data:image/${'x'.repeat(300)};base64,aGVsbG8=`,
    ];
    for (const uri of wrong) expect(verdict(uri), uri).to.equal('invalid_base64_image');
  });

  it('is refused without base64', () => {
    const wrong = [
      'a',
      'aGVsb',
      'aGVsbG8==',
      'aGVsbG8=a',
      'aG=VsbG8',
      'aGVs bG8=',
      'aGVs\nbG8=',
      'aGVsbG8%3D',
      'aGVs-G8=',
      'aGV_bG8=',
    ];
    const wide = ['\u0141GVsbG8=', 'aGVs\u0162G8=', 'aGVsbG8\uff1d', 'aGVs\u00e9G8='];
    for (const text of [...wrong, ...wide, '=', '==', '====']) {
      expect(verdict(`data:image/png;base64,${text}`), text).to.equal('invalid_base64_image');
    }
  });

  it('is refused by its length before it is decoded', () => {
    const most = 'A'.repeat(13_981_016);
    expect(decodeDataUri(`data:image/png;base64,${most}`).byteLength).to.equal(10_485_762);
    expect(verdict(`data:image/png;base64,${most}!`)).to.equal('image_file_too_large');
  });

  it('is distinguished from a URL by its scheme', () => {
    expect(isDataUri('data:,')).to.equal(true);
    expect(isDataUri('DATA:image/png;base64,')).to.equal(true);
    expect(isDataUri('https://a.example/data:')).to.equal(false);
  });
});
