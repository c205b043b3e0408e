/** Words of prompts that decide what the sketch image provider draws. */

import { expect } from 'chai';
import { colourNamed, kindOf } from '../words.js';

describe('sketch_image: words of a prompt', () => {
  it('choose a landscape, in English and in Vietnamese', () => {
    expect(kindOf('Two tugboats')).to.equal('sea');
    expect(kindOf('Thuyền đánh cá trên vịnh')).to.equal('sea');
    expect(kindOf('Phố cổ ban đêm'.normalize('NFD'))).to.equal('town');
    expect(kindOf('Ruộng bậc thang')).to.equal('hills');
    expect(kindOf('')).to.equal(undefined);
  });

  it('are whole words in Vietnamese', () => {
    // Plurals begin like a fish, and a colour like a lake.
    expect(kindOf('các bông hồng')).to.equal(undefined);
    expect(colourNamed('các bông hồng')).to.equal(colourNamed('pink'));
  });

  it('name a palette', () => {
    expect(colourNamed('Hoàng hôn')).to.equal(colourNamed('sunset'));
    expect(colourNamed('ban đêm')).to.equal(colourNamed('Night'));
    expect(colourNamed('a square')).to.equal(-1);
  });
});
