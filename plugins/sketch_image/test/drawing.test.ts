/** Drawings of the sketch image provider: letters, ink and turns. */

import { expect } from 'chai';
import { GatewayError, type ImageCall } from 'mediagate/plugin';
import { chooseSize, createSketchProvider, Turns } from '../index.js';
import { letter } from '../lettering.js';
import { drawInk } from '../strokes.js';

const never = new AbortController().signal;

describe('sketch_image', () => {
  const provider = createSketchProvider({ models: ['gen-img-2'], seed: 0 });
  const call = (more: Partial<ImageCall> = {}): ImageCall => ({
    model: 'gen-img-2',
    prompt: 'A tug at dawn',
    size: { width: 512, height: 512 },
    references: [],
    options: {},
    signal: never,
    ...more,
  });
  const draw = async (more?: Partial<ImageCall>) => Buffer.from((await provider.generate(call(more))).bytes);

  it('draws the same image for the same words, and another for others or another seed', async () => {
    const again = createSketchProvider({ models: ['gen-img-2'], seed: 0 });
    const reseeded = createSketchProvider({ models: ['gen-img-2'], seed: 1 });
    const one = await draw();
    expect(one.equals((await again.generate(call())).bytes)).to.equal(true);
    expect(one.equals(await draw({ prompt: 'A tug at dusk' }))).to.equal(false);
    expect(one.equals((await reseeded.generate(call())).bytes)).to.equal(false);
  });

  it('refuses a reference that is no image', async () => {
    const references = [{ bytes: Buffer.from('<svg/>'), contentType: 'image/png' }];
    const error = await provider.generate(call({ references })).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'invalid_value', param: 'image' });
  });

  it('shows the colours, then the ink, before the image is complete', async () => {
    for (const count of [1, 2, 3]) {
      const shown: Buffer[] = [];
      const partials = { count, show: ({ bytes }: { bytes: Uint8Array }) => void shown.push(Buffer.from(bytes)) };
      const picture = await draw({ partials });
      expect(shown).to.have.length(Math.min(2, count));
      expect(new Set([...shown, picture].map((bytes) => bytes.toString('base64'))).size).to.equal(shown.length + 1);
      expect(picture.equals(await draw())).to.equal(true);
    }
  });

  it('lists what it ignores', async () => {
    const options = { quality: 'high', moderation: 'auto', background: 'transparent' };
    const { warnings } = await provider.generate(call({ options }));
    expect(warnings).to.deep.equal([
      { setting: 'quality', details: 'a sketch is always the same in this' },
      { setting: 'background', details: 'a sketch is drawn on paper' },
    ]);
  });

  it('chooses a size by the first reference, else by the words', () => {
    expect(chooseSize('a wide poster', { width: 900, height: 1600 })).to.deep.equal({ width: 1024, height: 1536 });
    expect(chooseSize('x', { width: 1000, height: 1100 })).to.deep.equal({ width: 1024, height: 1024 });
    expect(chooseSize('a movie poster of a tug', undefined)).to.deep.equal({ width: 1024, height: 1536 });
    expect(chooseSize('a wide panorama', undefined)).to.deep.equal({ width: 1536, height: 1024 });
    expect(chooseSize('a tug', undefined)).to.deep.equal({ width: 1024, height: 1024 });
  });
});

describe('sketch_image: letters', () => {
  const box = { x: 100, y: 50, width: 400, height: 120, capitals: 40, smallest: 12 };
  const extent = (text: string) => {
    const strokes = letter(text, box);
    const points = strokes.flatMap((stroke) => stroke.points);
    const xs = points.map(([x]) => x);
    const ys = points.map(([, y]) => y);
    return {
      count: strokes.length,
      left: Math.min(...xs),
      right: Math.max(...xs),
      top: Math.min(...ys),
      bottom: Math.max(...ys),
    };
  };

  const texts: Readonly<Record<string, string>> = {
    'a word': 'Tug',
    'many words': 'a tug at dawn in the harbour '.repeat(200),
    'one long word': 'x'.repeat(5_000),
    'a script without spaces': '漢字'.repeat(300),
    'marks upon marks': 'ẤẦẨẪẬ Ữ Ợ Ỹ Đ',
    'letters from right to left': 'مرحبا بالعالم',
    emoji: '🎉👩‍👩‍👧‍👦🇻🇳',
    markup: '<script>&amp;</script>',
  };
  for (const [name, text] of Object.entries(texts)) {
    it(`shows ${name} within its box`, () => {
      const { count, left, right, top, bottom } = extent(text);
      expect(count).to.be.greaterThan(0);
      expect(left).to.be.at.least(box.x - 12);
      expect(right).to.be.at.most(box.x + box.width + 12);
      expect(top).to.be.at.least(box.y - 12);
      expect(bottom).to.be.at.most(box.y + box.height + 12);
    });
  }

  it('draws every letter of the alphabet and every digit differently', () => {
    const forms = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ĐŁ'].map((sign) => JSON.stringify(letter(sign, box)));
    expect(new Set(forms).size).to.equal(forms.length);
  });

  it('shows marks over and under letters, and nothing for an empty text', () => {
    expect(extent('Ấ').count).to.equal(extent('A').count + 2);
    expect(extent('Ạ').bottom).to.be.greaterThan(extent('A').bottom);
    expect(letter(' \u0000\u200b\ufeff ', box)).to.deep.equal([]);
  });
});

describe('sketch_image: ink', () => {
  it('is dark on the line, clear beside it, and stays within its part', async () => {
    const line = { points: [[2, 10] as const, [18, 10] as const], width: 4 };
    const { cover } = await drawInk(
      { width: 20, height: 20 },
      [{ strokes: [line], clip: { x: 0, y: 0, width: 10, height: 20 } }],
      never,
    );
    expect([cover[10 * 20 + 5], cover[3 * 20 + 5], cover[10 * 20 + 12]]).to.deep.equal([255, 0, 0]);
  });

  it('ends when the caller leaves', async () => {
    const gone = new Error('the caller left');
    const leaving = new AbortController();
    const strokes = Array.from({ length: 2_000 }, () => ({ points: [[0, 0] as const, [900, 900] as const], width: 9 }));
    setImmediate(() => leaving.abort(gone));
    const error = await drawInk({ width: 900, height: 900 }, [{ strokes }], leaving.signal).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.equal(gone);
  });
});

describe('sketch_image: turns', () => {
  it('admit a few at once, queue others in order, and refuse the rest', async () => {
    const turns = new Turns({ atOnce: 2, waiting: 2 });
    const order: string[] = [];
    let most = 0;
    let inside = 0;
    const work = (name: string) => async () => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push(name);
      inside--;
    };
    const all = ['a', 'b', 'c', 'd'].map((name) => turns.take(never, work(name)));
    const refused = await turns.take(never, work('e')).catch((error: unknown) => error);
    await Promise.all(all);
    expect(refused).to.include({ code: 'queue_full' });
    expect(order).to.deep.equal(['a', 'b', 'c', 'd']);
    expect(most).to.equal(2);
  });

  it('drop callers who leave the queue, and continue after a failure', async () => {
    const turns = new Turns({ atOnce: 1, waiting: 5 });
    const gone = new Error('the caller left');
    const leaving = new AbortController();
    const first = turns.take(
      never,
      () => new Promise((_resolve, reject) => setTimeout(reject, 10, new Error('broken'))),
    );
    const left = turns.take(leaving.signal, async () => 'never');
    const last = turns.take(never, async () => 'done');
    leaving.abort(gone);
    expect(await left.catch((error: unknown) => error)).to.equal(gone);
    expect(await first.catch((error: Error) => error.message)).to.equal('broken');
    expect(await last).to.equal('done');
    expect(await turns.take(never, async () => 'free')).to.equal('free');
  });
});
