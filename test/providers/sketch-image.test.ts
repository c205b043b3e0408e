/** The sketch image provider with a mask. */

import { expect } from 'chai';
import { createGateway, type ImageCall } from 'mediagate';
import sketchImage from 'mediagate/plugins/sketch_image';
import sharp, { type OverlayOptions } from 'sharp';

describe('sketch_image with a mask', () => {
  const call = (more: Pick<ImageCall, 'size' | 'references' | 'mask'> & Partial<ImageCall>): ImageCall => ({
    model: 'gen-img-2',
    prompt: 'A tug at dawn',
    options: {},
    signal: new AbortController().signal,
    ...more,
  });

  it('draws where the mask is transparent, and leaves the rest unchanged', async () => {
    await using gateway = await createGateway({ plugins: [{ use: sketchImage }] });
    const provider = gateway.imageProvider('gen-img-2');
    if (!provider) throw new Error('there is no provider');
    const size = { width: 300, height: 200 };
    const picture = await sharp({ create: { ...size, channels: 3, background: '#2f6f8f' } })
      .png()
      .toBuffer();
    const open = { create: { width: 90, height: 120, channels: 4, background: '#fff' } } as const;
    const maskOf = (inputs: OverlayOptions[]) =>
      sharp({ create: { ...size, channels: 4, background: '#fff' } })
        .composite(inputs)
        .png()
        .toBuffer();
    const mask = await maskOf([{ input: open, left: 200, top: 40, blend: 'dest-out' }]);
    const asMedia = (bytes: Uint8Array) => ({ bytes, contentType: 'image/png' });
    const edit = { references: [asMedia(picture)], size: 'auto' } as const;
    const image = await provider.generate(call({ ...edit, mask: asMedia(mask) }));
    const { data, info } = await sharp(image.bytes).raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, info.channels]).to.deep.equal([300, 200, 3]);
    let drawn = 0;
    for (let pixel = 0; pixel < 300 * 200; pixel++) {
      const [x, y] = [pixel % 300, Math.floor(pixel / 300)];
      const isOpen = x >= 200 && x < 290 && y >= 40 && y < 160;
      const isSame = data.subarray(pixel * 3, pixel * 3 + 3).equals(Buffer.from([0x2f, 0x6f, 0x8f]));
      if (isOpen && !isSame) drawn++;
      if (!isOpen) expect(isSame, `${x}, ${y}`).to.equal(true);
    }
    expect(drawn).to.be.greaterThan(90 * 120 * 0.9);

    const closed = await provider.generate(call({ ...edit, mask: asMedia(await maskOf([])) }));
    expect((await sharp(closed.bytes).raw().toBuffer()).equals(await sharp(picture).raw().toBuffer())).to.equal(true);
    expect(closed.warnings?.map(({ setting }) => setting)).to.deep.equal(['mask']);
    const line = { create: { width: 1, height: 200, channels: 4, background: '#fff' } } as const;
    const narrow = await maskOf([{ input: line, left: 0, top: 0, blend: 'dest-out' }]);
    const resized = await provider.generate(
      call({ ...edit, mask: asMedia(narrow), size: { width: 64, height: 64 }, options: { output_format: 'webp' } }),
    );
    expect(await sharp(resized.bytes).metadata()).to.include({ width: 64, height: 64, format: 'webp' });
  });
});
