/** Movie boxes that are moved to the beginning of a file: their offsets, also beyond 4 GiB, and what is no such box. */

import { expect } from 'chai';
import { movedMovie } from '../../../core/media/mp4-boxes.js';

function box(type: string, ...parts: Buffer[]): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(parts.reduce((sum, { length }) => sum + length, 8));
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, ...parts]);
}

/** A movie with one track, whose chunks are at these offsets. */
function movieOf(type: 'stco' | 'co64', offsets: readonly number[]): Buffer {
  const width = type === 'co64' ? 8 : 4;
  const table = Buffer.alloc(8 + offsets.length * width);
  table.writeUInt32BE(offsets.length, 4);
  for (const [index, offset] of offsets.entries()) {
    if (type === 'co64') table.writeBigUInt64BE(BigInt(offset), 8 + index * 8);
    else table.writeUInt32BE(offset, 8 + index * 4);
  }
  const tables = box('stbl', box('stsd', Buffer.alloc(20)), box(type, table));
  return box('moov', box('mvhd', Buffer.alloc(100)), box('trak', box('mdia', box('minf', tables))));
}

function offsetsIn(movie: Buffer): { type: string; offsets: number[] } {
  const type = movie.includes('co64') ? 'co64' : 'stco';
  const at = movie.indexOf(type) + 8;
  const read = (index: number) => {
    return type === 'co64' ? Number(movie.readBigUInt64BE(at + 4 + index * 8)) : movie.readUInt32BE(at + 4 + index * 4);
  };
  return { type, offsets: Array.from({ length: movie.readUInt32BE(at) }, (_, index) => read(index)) };
}

describe('movie boxes that are moved to the beginning', () => {
  it('have offsets that are larger by their length, but for what was behind them', () => {
    const movie = movieOf('stco', [48, 900, 2_000]);
    const moved = movedMovie(movie, { at: 1_000, fileBytes: 3_000 }) as Buffer;
    expect(moved.length).to.equal(movie.length);
    expect(offsetsIn(moved)).to.deep.equal({ type: 'stco', offsets: [48 + movie.length, 900 + movie.length, 2_000] });
  });

  it('have long offsets if the file is too large for short ones, and keep long ones', () => {
    const large = 2 ** 32 - 100;
    const movie = movieOf('stco', [48, large]);
    const moved = movedMovie(movie, { at: large + 50, fileBytes: large + 50 + movie.length }) as Buffer;
    expect(moved.length).to.equal(movie.length + 8);
    expect(moved.readUInt32BE(0)).to.equal(moved.length);
    expect(offsetsIn(moved)).to.deep.equal({ type: 'co64', offsets: [48 + moved.length, large + moved.length] });
    const long = movieOf('co64', [2 ** 40]);
    const { offsets } = offsetsIn(movedMovie(long, { at: 2 ** 41, fileBytes: 2 ** 41 + long.length }) as Buffer);
    expect(offsets).to.deep.equal([2 ** 40 + long.length]);
  });

  it('are refused if they are compressed, not whole, or have tables that lead outside', () => {
    expect(movedMovie(box('moov', box('cmov', Buffer.alloc(9))), { at: 9, fileBytes: 99 })).to.equal(undefined);
    const movie = movieOf('stco', [48]);
    expect(movedMovie(movie.subarray(0, -1), { at: 9, fileBytes: 999 })).to.equal(undefined);
    for (const [name, value] of [
      ['stco', 0xffffffff],
      ['trak', 2 ** 30],
    ] as const) {
      const wrong = Buffer.from(movie);
      wrong.writeUInt32BE(value, wrong.indexOf(name) + (name === 'stco' ? 8 : -4));
      expect(() => movedMovie(wrong, { at: 9, fileBytes: 999 }), name).to.throw(RangeError);
    }
  });
});
