import { expect } from 'chai';
import { inStages } from '../../../core/text/stages.js';
import { rejection } from '../../support/rejection.js';

describe('work in stages', () => {
  it('lets the event loop go on between the stages, and does one work at a time', async () => {
    const log: string[] = [];
    const work = (name: string) =>
      inStages<string>([
        () => log.push(`${name}1`),
        (before: number) => log.push(`${name}2`) + before,
        (before: number) => `${name} ${before}`,
      ]);
    let immediates = 0;
    let isOver = false;
    const count = () => {
      immediates += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const results = await Promise.all(['a', 'b', 'c'].map(work));
    isOver = true;
    expect(results).to.deep.equal(['a 3', 'b 7', 'c 11']);
    expect(log).to.deep.equal(['a1', 'a2', 'b1', 'b2', 'c1', 'c2']);
    expect(immediates).to.be.at.least(8);
  });

  it('goes on with the next work where one fails', async () => {
    const failing = inStages([
      () => {
        throw new Error('no');
      },
    ]);
    const next = inStages([() => 1]);
    expect(await rejection(failing)).to.include({ message: 'no' });
    expect(await next).to.equal(1);
  });
});
