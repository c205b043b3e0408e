/** Input images and canvases: encoding, rotation, limits and formats. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import sharp from 'sharp';
import { ImageFiles } from '../../../core/media/image-file.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { blackPng, noise, plainWebp, pngChunk, stripes } from '../../support/images/images.js';
import { rejection } from '../../support/rejection.js';

const CANARY = 'canary of the notes';
const { signal } = new AbortController();

describe('image files', () => {
  const images = new ImageFiles();

  async function verdict(bytes: Uint8Array): Promise<string> {
    return images.normalize(bytes, signal).then(
      ({ contentType }) => contentType,
      (error: GatewayError) => error.code,
    );
  }

  /** Colour in the middle of each third, as letters. */
  async function colours(bytes: Uint8Array): Promise<string> {
    const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const row = Math.floor(info.height / 2) * info.width;
    return [1, 3, 5]
      .map((sixth) => {
        const at = (row + Math.floor((info.width * sixth) / 6)) * 3;
        return [...data.subarray(at, at + 3)].map((level, band) => (level > 200 ? 'rgb'[band] : '')).join('');
      })
      .join(' ');
  }

  describe('an input image', () => {
    it('is encoded anew: lossless kinds as PNG, others as JPEG', async () => {
      const picture = stripes(300, 200);
      expect(await verdict(await picture.clone().png().toBuffer())).to.equal('image/png');
      expect(await verdict(await picture.clone().png({ palette: true }).toBuffer())).to.equal('image/png');
      expect(await verdict(await picture.clone().gif().toBuffer())).to.equal('image/png');
      expect(await verdict(await picture.clone().ensureAlpha(0.5).webp().toBuffer())).to.equal('image/png');
      expect(await verdict(await picture.clone().webp().toBuffer())).to.equal('image/jpeg');
      expect(await verdict(await picture.clone().jpeg().toBuffer())).to.equal('image/jpeg');
    });

    it('keeps its content in every form', async () => {
      const picture = stripes(300, 200);
      const two = Buffer.concat([await stripes(300, 100).raw().toBuffer(), Buffer.alloc(300 * 100 * 3)]);
      const frames = sharp(two, { raw: { width: 300, height: 200, channels: 3, pageHeight: 100 } });
      const forms = {
        palette: await picture.clone().png({ palette: true }).toBuffer(),
        interlaced: await picture.clone().png({ progressive: true }).toBuffer(),
        '16 bits': await picture.clone().toColourspace('rgb16').png().toBuffer(),
        alpha: await picture.clone().ensureAlpha(0.9).png().toBuffer(),
        progressive: await picture.clone().jpeg({ progressive: true }).toBuffer(),
        CMYK: await picture.clone().toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer(),
        lossless: await picture.clone().webp({ lossless: true }).toBuffer(),
        'animated WebP': await frames.clone().webp({ lossless: true }).toBuffer(),
        'animated GIF': await frames.clone().gif().toBuffer(),
      };
      for (const [name, bytes] of Object.entries(forms)) {
        const { bytes: made } = await images.normalize(bytes, signal);
        const { width, height = 0, space, depth, pages } = await sharp(made).metadata();
        expect({ width, height, space, depth, pages }, name).to.deep.equal({
          width: 300,
          height: name.startsWith('animated') ? 100 : 200,
          space: 'srgb',
          depth: 'uchar',
          pages: undefined,
        });
        // Pure colours of CMYK are duller ones of sRGB.
        if (name !== 'CMYK') expect(await colours(made), name).to.equal('r g b');
      }
    });

    it('is rotated upright, without its orientation tag', async () => {
      const lying = await stripes(300, 200).rotate(90).jpeg().withExif({}).withMetadata({ orientation: 8 }).toBuffer();
      const { bytes } = await images.normalize(lying, signal);
      const { width, height, orientation } = await sharp(bytes).metadata();
      expect({ width, height, orientation }).to.deep.equal({ width: 300, height: 200, orientation: undefined });
      expect(await colours(bytes)).to.equal('r g b');
    });

    it('is converted to sRGB', async () => {
      const wide = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#00c800' } })
        .withIccProfile('p3')
        .png()
        .toBuffer();
      const { bytes } = await images.normalize(wide, signal);
      const [red = 0, green = 0] = await sharp(bytes).raw().toBuffer();
      expect([red, green], 'the same colour, other numbers').to.deep.equal([0, 200]);
      expect((await sharp(bytes).metadata()).icc).to.equal(undefined);
    });

    it('has at most 20 megapixels afterwards, in the same proportions', async () => {
      for (const [width, height] of [
        [7000, 3500],
        [3500, 7000],
      ] as const) {
        const large = await sharp({ create: { width, height, channels: 3, background: 'red' } })
          .png()
          .toBuffer();
        const made = await images.normalize(large, signal);
        const found = await sharp(made.bytes).metadata();
        expect(found.width * found.height).to.be.within(19_900_000, 20_000_000);
        expect(found.width / found.height).to.be.closeTo(width / height, 0.001);
      }
      const small = await images.normalize(blackPng({ width: 5000, height: 4000, colourType: 0 }), signal);
      expect(await sharp(small.bytes).metadata()).to.include({ width: 5000, height: 4000 });
    });

    it('loses its metadata: EXIF, place, comments, texts, profiles, and bytes after its end', async () => {
      const exif = { IFD0: { Copyright: CANARY }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' } };
      const noted = stripes(60, 40).withExif(exif).withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${CANARY}</x:xmpmeta>`);
      const jpeg = await noted.clone().jpeg().toBuffer();
      const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, CANARY.length + 2]), Buffer.from(CANARY)]);
      const text = pngChunk('tEXt', Buffer.from(`Comment\0${CANARY}`));
      const international = pngChunk('iTXt', Buffer.from(`Comment\0\0\0\0\0${CANARY}`));
      const files = [
        Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2), Buffer.from(`<script>${CANARY}</script>`)]),
        Buffer.concat([blackPng({ width: 9, height: 9, chunks: [text, international] }), Buffer.from(CANARY)]),
        await noted.clone().png().toBuffer(),
        await noted.clone().webp().toBuffer(),
      ];
      for (const bytes of files) {
        expect(bytes.includes(CANARY), 'there before').to.equal(true);
        const made = await images.normalize(bytes, signal);
        expect(Buffer.from(made.bytes).includes(CANARY)).to.equal(false);
        const { exif: left, xmp, iptc, icc, comments } = await sharp(made.bytes).metadata();
        expect({ left, xmp, iptc, icc, comments }).to.deep.equal({
          left: undefined,
          xmp: undefined,
          iptc: undefined,
          icc: undefined,
          comments: undefined,
        });
      }
    });

    it('has the type of its bytes, and is refused if its label differs', async () => {
      const picture = stripes(60, 40);
      const png = await picture.clone().png().toBuffer();
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>`;
      const unsupported = {
        svg: Buffer.from(svg),
        'svg that begins late': Buffer.from(`<?xml version="1.0"?>${' '.repeat(2000)}${svg}`),
        tiff: await picture.clone().tiff().toBuffer(),
        avif: await picture.clone().avif({ effort: 0 }).toBuffer(),
        ico: Buffer.concat([Buffer.from([0, 0, 1, 0, 1, 0, 60, 40, 0, 0, 1, 0, 32, 0]), Buffer.alloc(8), png]),
        html: Buffer.from('<!doctype html><title>Log in</title>'),
        'a picture later on': Buffer.concat([Buffer.from('GIFAR'), png]),
        empty: Buffer.alloc(0),
      };
      for (const [name, bytes] of Object.entries(unsupported)) {
        expect(await verdict(bytes), name).to.equal('unsupported_image_media_type');
      }
      expect(await verdict(Buffer.concat([png, Buffer.from(svg)])), 'SVG behind a PNG').to.equal('image/png');
      const gif = Buffer.from(`GIF89a\x09\0\x09\0\0\0\0${svg}`);
      expect(await verdict(gif), 'SVG behind the first bytes of a GIF').to.equal('invalid_image');
    });

    it('is refused if it is broken or cut anywhere', async () => {
      const picture = noise(120, 80);
      const files = {
        png: await picture.clone().png().toBuffer(),
        jpeg: await picture.clone().jpeg().toBuffer(),
        progressive: await picture.clone().jpeg({ progressive: true }).toBuffer(),
        webp: await picture.clone().webp().toBuffer(),
        gif: await picture.clone().gif().toBuffer(),
      };
      for (const [name, bytes] of Object.entries(files)) {
        for (const part of [0.01, 0.3, 0.9]) {
          const cut = bytes.subarray(0, Math.max(16, Math.floor(bytes.length * part)));
          expect(await verdict(cut), `${part} of a ${name}`).to.equal('invalid_image');
        }
      }
      const data = Buffer.from(files.png);
      data[data.indexOf('IDAT') + 500] = (data[data.indexOf('IDAT') + 500] ?? 0) ^ 1;
      expect(await verdict(data), 'a changed byte').to.equal('invalid_image');
      const checksum = Buffer.from(files.png);
      checksum[checksum.length - 13] = (checksum[checksum.length - 13] ?? 0) ^ 1;
      expect(await verdict(checksum), 'a changed checksum').to.equal('invalid_image');
    });

    it('is accepted with oddities that every viewer ignores', async () => {
      const jpeg = await noise(120, 80).jpeg().toBuffer();
      const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]));
      const odd = Buffer.concat([jpeg.subarray(0, scan), Buffer.from([1, 2, 3]), jpeg.subarray(scan)]);
      expect(await verdict(odd), 'bytes between segments').to.equal('image/jpeg');
      const profile = pngChunk('iCCP', Buffer.from('none\0\0no profile'));
      expect(await verdict(blackPng({ width: 9, height: 9, chunks: [profile] }))).to.equal('image/png');
    });

    it('has at most 10 MiB and 100 megapixels', async () => {
      const full = blackPng({ width: 9, height: 9 });
      const filled = (length: number) => Buffer.concat([full, Buffer.alloc(length - full.length)]);
      expect(await verdict(filled(10 * 1024 * 1024))).to.equal('image/png');
      expect(await verdict(filled(10 * 1024 * 1024 + 1))).to.equal('image_file_too_large');
      expect(await verdict(blackPng({ width: 10_000, height: 10_001 }))).to.equal('image_too_large');
      expect(await verdict(blackPng({ width: 70_000, height: 1 }))).to.equal('image_too_large');
    });
  });

  describe('at work', () => {
    it('decodes two at a time, which leaves threads for files and DNS', async () => {
      const large = blackPng({ width: 4_000, height: 4_000 });
      let left = 6;
      const work = Array.from({ length: left }, () => images.normalize(large, signal).then(() => left--));
      let most = 0;
      while (left > 0) {
        await readFile(import.meta.filename);
        most = Math.max(most, sharp.counters().process);
      }
      await Promise.all(work);
      expect(most).to.equal(2);
    });

    it('refuses images that would wait too long, and continues', async () => {
      const small = await stripes(9, 9).png().toBuffer();
      const outcomes = await Promise.allSettled(Array.from({ length: 300 }, () => images.normalize(small, signal)));
      const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      expect(refused.length).to.be.within(1, 43);
      expect(new Set(refused.map(({ code }) => code))).to.deep.equal(new Set(['queue_full']));
      expect(await verdict(small)).to.equal('image/png');
    });

    it('does not start work without a waiting caller', async () => {
      const stop = new AbortController();
      const small = await stripes(9, 9).png().toBuffer();
      const work = Array.from({ length: 10 }, () => rejection(images.normalize(small, stop.signal)));
      const reason = new Error('gone');
      stop.abort(reason);
      expect(new Set(await Promise.all(work))).to.deep.equal(new Set([reason]));
    });

    it('lets sharp read only four formats, from memory', async () => {
      const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
      await verdict(await stripes(9, 9).png().toBuffer());
      const tiff = await stripes(9, 9).tiff().toBuffer();
      for (const input of [svg, tiff, import.meta.filename]) await rejection(sharp(input).metadata());
    });
  });

  describe('a canvas', () => {
    const canvas = (width: number, height: number) => ({ size: { width, height }, signal });

    it('is filled exactly, cropped evenly and never stretched', async () => {
      const wide = await stripes(300, 100).png().toBuffer();
      const square = await images.fitCanvas({ bytes: wide, contentType: 'image/png' }, canvas(100, 100));
      expect(square).to.include({ width: 100, height: 100, contentType: 'image/png', untouched: false });
      expect(await sharp(square.bytes).metadata()).to.include({ width: 100, height: 100, format: 'png' });
      expect(await colours(square.bytes), 'the middle third').to.equal('g g g');
      for (const [width, height] of [
        [1024, 1536],
        [1152, 2048],
        [17, 400],
        [1, 1],
      ] as const) {
        const made = await images.fitCanvas({ bytes: wide, contentType: 'image/png' }, canvas(width, height));
        expect(await sharp(made.bytes).metadata()).to.include({ width, height });
      }
    });

    it('keeps every byte of an image that has its size', async () => {
      for (const kind of ['png', 'jpeg', 'webp'] as const) {
        const bytes = await stripes(64, 48)
          .toFormat(kind)
          .withExif({ IFD0: { Copyright: CANARY } })
          .toBuffer();
        const media = { bytes, contentType: 'application/octet-stream' };
        const made = await images.fitCanvas(media, canvas(64, 48));
        expect(made).to.deep.equal({ bytes, contentType: `image/${kind}`, width: 64, height: 48, untouched: true });
        expect(await images.fitCanvas(media, { size: 'auto', signal })).to.deep.equal(made);
      }
    });

    it("has the requested format, or else the model's", async () => {
      const bytes = await noise(64, 48).ensureAlpha(0).png().toBuffer();
      const media = { bytes, contentType: 'image/png' };
      for (const format of ['jpeg', 'webp'] as const) {
        const best = await images.fitCanvas(media, { size: 'auto', format, signal });
        expect(best).to.include({ contentType: `image/${format}`, width: 64, height: 48, untouched: false });
        expect(await sharp(best.bytes).metadata()).to.include({ format, width: 64, height: 48 });
        const least = await images.fitCanvas(media, { size: 'auto', format, quality: 0, signal });
        expect(least.bytes.length).to.be.lessThan(best.bytes.length);
      }
      const jpeg = await images.fitCanvas(media, { size: 'auto', format: 'jpeg', signal });
      expect([...(await sharp(jpeg.bytes).raw().toBuffer()).subarray(0, 3)], 'nothing is white').to.deep.equal([
        255, 255, 255,
      ]);
      const smaller = await images.fitCanvas({ bytes: jpeg.bytes, contentType: 'image/jpeg' }, canvas(32, 32));
      expect(smaller.contentType).to.equal('image/jpeg');
      const gif = await stripes(64, 48).gif().toBuffer();
      expect((await images.fitCanvas({ bytes: gif, contentType: 'image/gif' }, canvas(64, 48))).contentType).to.equal(
        'image/png',
      );
    });

    it("accepts only complete images of a model, and reports others as the model's failure", async () => {
      const tall = noise(64, 200);
      const files = {
        html: Buffer.from('<!doctype html><title>Bad gateway</title>'),
        empty: Buffer.alloc(0),
        'a bomb': plainWebp(12_000, 12_000),
        // The canvas is from the middle: only whoever reads on sees that the end is missing.
        'a cut PNG': (await tall.clone().png().toBuffer()).subarray(0, 36_000),
        'a cut JPEG': (await tall.clone().jpeg({ quality: 100 }).toBuffer()).subarray(0, 18_000),
      };
      for (const [name, bytes] of Object.entries(files)) {
        const error = await rejection(images.fitCanvas({ bytes, contentType: 'image/png' }, canvas(64, 64)));
        expect(error, name).to.be.instanceOf(GatewayError).with.property('code', 'upstream_error');
      }
    });
  });
});
