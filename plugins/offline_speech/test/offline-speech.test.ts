/** Texts, samples and pauses in offline speech. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate/plugin';
import { describePlugin } from 'mediagate/testing';
import { Places } from '../engines.js';
import { resampleSpeech } from '../flite.js';
import { SpeechCutter } from '../hearing.js';
import plugin from '../index.js';
import { engineVoice, readableText, splitSpeech } from '../speaking.js';

describePlugin({ plugin, folder: import.meta.url });

describe('offline_speech: texts', () => {
  const readable: Readonly<Record<string, string>> = {
    'The “quick” fox — it’s 5°!': 'The "quick" fox - it\'s 5 degrees !',
    'Café Ærø, naïve ﬁancée': 'Cafe Aero, naive fiancee',
    'a\u0000b\nc\t\u200bd': 'a b c d',
    'Ready? 🎉 Go!': 'Ready? Go!',
    '-o /etc/passwd': '-o /etc/passwd',
  };
  for (const [text, expected] of Object.entries(readable)) {
    it(`reads ${JSON.stringify(text)} as ${JSON.stringify(expected)}`, () => {
      expect(readableText(text)).to.equal(expected);
    });
  }

  it('refuses other scripts, and texts without words', () => {
    const failure = (text: string) => {
      try {
        return readableText(text);
      } catch (error) {
        return error instanceof GatewayError ? `${error.code} ${error.param}` : error;
      }
    };
    for (const text of ['Привет', '你好', 'hello мир', '٣', 'नमस्ते']) {
      expect(failure(text), text).to.equal('unsupported_value input');
    }
    for (const text of ['…', '🎉', ' \n ', '"-!"']) expect(failure(text), text).to.equal('invalid_value input');
  });

  it('are spoken sentence by sentence', () => {
    expect(
      splitSpeech('Hello there. Dr. Smith (e.g. John Q. Smith) came at 3.45 p.m. today! Why? ... Because.'),
    ).to.deep.equal([
      'Hello there.',
      'Dr. Smith (e.g. John Q. Smith) came at 3.45 p.m. today!',
      'Why? ...',
      'Because.',
    ]);
  });

  it('are spoken in parts if they are long, without a loss', () => {
    for (const text of ['word '.repeat(500).trim(), `${'many words, '.repeat(200)}and an end`, 'x'.repeat(1_000)]) {
      const parts = splitSpeech(text);
      expect(Math.max(...parts.map(({ length }) => length))).to.be.at.most(300);
      expect(parts.join('').replaceAll(' ', '')).to.equal(text.replaceAll(' ', ''));
    }
  });

  it('accepts its own voices and those that clients use', () => {
    expect(['slt', 'Alloy', 'onyx', 'kal'].map(engineVoice)).to.deep.equal(['slt', 'slt', 'rms', 'kal16']);
    for (const name of ['', 'toString', '__proto__', '21m00Tcm4TlvDq8ikWAM']) {
      expect(() => engineVoice(name), name)
        .to.throw(GatewayError)
        .with.property('code', 'unsupported_value');
    }
  });
});

describe('offline_speech: samples', () => {
  const wave = (hertz: number, length: number) =>
    Int16Array.from({ length }, (_, index) => Math.round(10_000 * Math.sin((2 * Math.PI * hertz * index) / 16_000)));

  it('makes three samples of two, the same wave', () => {
    for (const hertz of [100, 1_000, 5_000]) {
      const made = Buffer.from(resampleSpeech(wave(hertz, 1_600)));
      expect(made.length).to.equal(2_400 * 2);
      for (let index = 100; index < 2_300; index += 1) {
        const expected = 10_000 * Math.sin((2 * Math.PI * hertz * index) / 24_000);
        expect(made.readInt16LE(2 * index)).to.be.closeTo(expected, 60);
      }
    }
  });

  it('stays within its 16 bits', () => {
    const square = Int16Array.from({ length: 800 }, (_, index) => (index % 40 < 20 ? 32_767 : -32_768));
    expect(() => resampleSpeech(square)).not.to.throw();
    expect(resampleSpeech(new Int16Array(0)).length).to.equal(0);
  });
});

describe('offline_speech: pieces', () => {
  /** Tones that swell as syllables do, and silence between them, as `[seconds, loudness]`. */
  const sound = (...parts: readonly (readonly [seconds: number, loudness: number])[]) =>
    Buffer.concat(
      parts.map(([seconds, loudness]) => {
        const samples = Int16Array.from({ length: seconds * 16_000 }, (_, index) =>
          Math.round(loudness * 32_767 * Math.sin(index / 8) * (0.6 + 0.4 * Math.sin(index / 800))),
        );
        return Buffer.from(samples.buffer);
      }),
    );
  const cut = (bytes: Buffer, step = 4_096) => {
    const cutter = new SpeechCutter();
    const pieces = [];
    for (let at = 0; at < bytes.length; at += step) pieces.push(...cutter.add(bytes.subarray(at, at + step)));
    pieces.push(...cutter.finish());
    return { pieces, seconds: cutter.seconds };
  };
  const times = (bytes: Buffer) => cut(bytes).pieces.map(({ start, end }) => [start, end]);

  it('finds speech between silences, with its times', () => {
    const found = times(sound([2, 0], [5, 0.3], [1, 0], [6, 0.3], [3, 0]));
    expect(found.length).to.equal(2);
    for (const [index, [start, end]] of [
      [2, 7],
      [8, 14],
    ].entries()) {
      expect(found[index]?.[0]).to.be.closeTo(start as number, 0.05);
      expect(found[index]?.[1]).to.be.closeTo(end as number, 0.05);
    }
  });

  it('leaves short words with what follows, unless the pause is long', () => {
    expect(times(sound([0.5, 0.3], [0.6, 0], [0.5, 0.3])).length).to.equal(1);
    expect(times(sound([0.5, 0.3], [2, 0], [0.5, 0.3])).length).to.equal(2);
  });

  it('are cut at the quietest moment if there is no pause, without losing a sample', () => {
    const { pieces, seconds } = cut(sound([12, 0.3], [0.3, 0.06], [30, 0.3]));
    expect(seconds).to.be.closeTo(42.3, 0.001);
    expect(pieces.length).to.be.within(3, 5);
    expect(pieces[0]?.end).to.be.closeTo(12.15, 0.2);
    const samples = pieces.reduce((sum, piece) => sum + piece.samples.length, 0);
    expect(samples / 16_000).to.be.closeTo(seconds, 0.1);
    for (const piece of pieces) expect(piece.samples.length / 16_000).to.be.at.most(20.5);
  });

  it('finds nothing in silence, in a hiss below it, and in a click', () => {
    expect(times(sound([60, 0]))).to.deep.equal([]);
    expect(times(sound([20, 0.001]))).to.deep.equal([]);
    expect(times(sound([2, 0], [0.04, 0.9], [2, 0]))).to.deep.equal([]);
    expect(cut(Buffer.alloc(0))).to.deep.equal({ pieces: [], seconds: 0 });
  });

  it('end at pauses in a noisy room', () => {
    expect(times(sound([2, 0.01], [5, 0.4], [1, 0.01], [5, 0.4], [2, 0.01])).length).to.be.within(2, 3);
  });

  it('are the same wherever the bytes are cut', () => {
    const bytes = sound([1, 0], [5, 0.3], [1, 0], [5, 0.2]);
    expect(cut(bytes, 997)).to.deep.equal(cut(bytes, 65_536));
  });
});

describe('offline_speech: places', () => {
  it('are as many as configured, and each is returned once', () => {
    const places = new Places(2);
    const leaving = new AbortController();
    const leave = places.take(new AbortController().signal);
    places.take(leaving.signal);
    expect(() => places.take(leaving.signal))
      .to.throw(GatewayError)
      .with.property('code', 'queue_full');
    leaving.abort();
    leave();
    leave();
    const { signal } = new AbortController();
    places.take(signal);
    places.take(signal);
    expect(() => places.take(signal)).to.throw(GatewayError);
  });
});
