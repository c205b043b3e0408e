/** Headers of images: type, size and memory of a decoder. */

import { expect } from 'chai';
import sharp from 'sharp';
import { readImageHeader, sniffImage } from '../../../core/media/image-header.js';
import { blackPng, noise, plainWebp, stripes, withJpegSize, withScans } from '../../support/images/images.js';

describe('header of an image', () => {
  it('has type and size of every kind and form', async () => {
    const picture = stripes(300, 200);
    const forms: readonly (readonly [string, Promise<Buffer>])[] = [
      ['png', picture.clone().png().toBuffer()],
      ['png', picture.clone().png({ palette: true }).toBuffer()],
      ['png', picture.clone().png({ progressive: true }).toBuffer()],
      ['jpeg', picture.clone().jpeg().toBuffer()],
      ['jpeg', picture.clone().jpeg({ progressive: true }).toBuffer()],
      ['jpeg', picture.clone().grayscale().jpeg().toBuffer()],
      ['jpeg', picture.clone().toColourspace('cmyk').jpeg().toBuffer()],
      [
        'jpeg',
        picture
          .clone()
          .jpeg()
          .withExif({ IFD0: { Copyright: 'x'.repeat(5000) } })
          .toBuffer(),
      ],
      ['webp', picture.clone().webp().toBuffer()],
      ['webp', picture.clone().webp({ lossless: true }).toBuffer()],
      ['webp', picture.clone().ensureAlpha(0.5).webp().toBuffer()],
      [
        'webp',
        picture
          .clone()
          .webp()
          .withExif({ IFD0: { Copyright: 'x' } })
          .toBuffer(),
      ],
      ['gif', picture.clone().gif().toBuffer()],
    ];
    for (const [type, making] of forms) {
      const bytes = await making;
      expect(readImageHeader(bytes)).to.include({ type, width: 300, height: 200 });
      expect(readImageHeader(Buffer.concat([Buffer.alloc(3), bytes]).subarray(3)), 'at any offset').to.include({
        type,
      });
    }
  });

  it('states the memory of a decoder that cannot work row by row', async () => {
    const held = async (image: Promise<Buffer> | Buffer) => readImageHeader(await image)?.heldBytes;
    const picture = stripes(320, 160);
    const pixels = 320 * 160;
    expect(await held(picture.clone().png().toBuffer())).to.equal(0);
    expect(await held(picture.clone().png({ progressive: true }).toBuffer())).to.equal(3 * pixels);
    expect(await held(blackPng({ width: 10, height: 10, depth: 16, colourType: 6, interlaced: true }))).to.equal(800);
    expect(await held(picture.clone().jpeg().toBuffer())).to.equal(0);
    expect(await held(picture.clone().jpeg({ progressive: true }).toBuffer())).to.equal(3 * pixels);
    expect(await held(picture.clone().jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer())).to.equal(
      6 * pixels,
    );
    expect(await held(picture.clone().webp().toBuffer())).to.equal(8 * pixels);
    expect(await held(plainWebp(12_000, 12_000))).to.equal(4 * 144e6 + 80e6);
    const two = sharp(await noise(100, 100).raw().toBuffer(), {
      raw: { width: 100, height: 100, channels: 3, pageHeight: 50 },
    });
    expect(await held(two.webp().toBuffer()), 'animated').to.equal(9 * 5000);
  });

  it('has the number of scans of a progressive JPEG, each as costly as an image', async () => {
    const progressive = await stripes(64, 64).jpeg({ progressive: true }).toBuffer();
    expect(readImageHeader(withScans(progressive, 5))?.heldBytes).to.be.lessThan(100_000);
    expect(readImageHeader(withScans(progressive, 100))?.heldBytes).to.equal(Number.POSITIVE_INFINITY);
  });

  it('is not read from cut, invalid or other files', async () => {
    const whole = {
      png: await stripes(30, 20).png().toBuffer(),
      jpeg: await stripes(30, 20).jpeg().toBuffer(),
      webp: await stripes(30, 20).webp().toBuffer(),
      gif: await stripes(30, 20).gif().toBuffer(),
    };
    for (const [name, bytes] of Object.entries(whole)) {
      for (let length = 0; length < 30; length += 1) {
        expect(readImageHeader(bytes.subarray(0, length))?.width ?? 30, `${name} of ${length}`).to.equal(30);
      }
      expect(readImageHeader(bytes.subarray(0, 12)), name).to.equal(undefined);
    }
    expect(readImageHeader(withJpegSize(whole.jpeg, 0, 20)), 'no width').to.equal(undefined);
    expect(readImageHeader(blackPng({ width: 0, height: 5 })), 'no width').to.equal(undefined);
    const arithmetic = Buffer.from(whole.jpeg);
    arithmetic[arithmetic.indexOf(Buffer.from([0xff, 0xc0])) + 1] = 0xc9;
    expect(readImageHeader(arithmetic), 'arithmetic coding').to.equal(undefined);
  });

  it('never throws on a changed byte', async () => {
    const whole = await Promise.all([
      stripes(30, 20).png().toBuffer(),
      stripes(30, 20).jpeg({ progressive: true }).toBuffer(),
      stripes(30, 20)
        .webp()
        .withExif({ IFD0: { Copyright: 'x' } })
        .toBuffer(),
      stripes(30, 20).gif().toBuffer(),
    ]);
    for (const bytes of whole) {
      for (let offset = 0; offset < Math.min(bytes.length, 700); offset += 1) {
        for (const value of [0, 1, 0x7f, 0xff]) {
          const changed = Buffer.from(bytes);
          changed[offset] = value;
          readImageHeader(changed);
        }
      }
    }
  });

  it('identifies four types only by their first bytes', () => {
    const refused = [
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      '<?xml version="1.0"?><svg/>',
      '<!doctype html><title>Log in</title>',
      'II*\0\x08\0\0\0',
      'MM\0*\0\0\0\x08',
      '\0\0\0\x1cftypavif',
      '\0\0\x01\0\x01\0\x10\x10',
      '%PDF-1.7',
      'BM\x36\0\0\0',
      'RIFF\x24\0\0\0WAVEfmt ',
      ' \x89PNG\r\n\x1a\n',
      '\x89PNG\n\x1a\n',
      'GIF88a',
      '\xff\xd8',
      '',
    ];
    for (const text of refused) {
      expect(sniffImage(Buffer.from(text.padEnd(text === '' ? 0 : 64, '\0'), 'latin1')), text).to.equal(undefined);
    }
  });
});
