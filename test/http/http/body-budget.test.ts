/** The memory of request bodies and its division between owners. */

import { mock } from 'node:test';
import { expect } from 'chai';
import type { GatewayError } from 'mediagate';
import { BodyBudget, type BodyReservation, networkOwner } from '../../../server/http/bodies/body-budget.js';
import { until } from '../../support/until.js';

const noEnd = (error: GatewayError) => {
  throw error;
};

describe('memory of request bodies', () => {
  it('limits each owner to three eighths of the small and the large memory, and frees it', () => {
    const room = new BodyBudget({ smallBytes: 8_000, bigBodies: 8 });
    for (const [bytes, places] of [
      [1_000, 3],
      [2_000_000, 3],
    ] as const) {
      const take = (owner: string) => {
        const place = room.open(owner, noEnd);
        try {
          place.add(bytes);
        } catch (error) {
          place.release();
          throw error;
        }
        place.arrived();
        return place.release;
      };
      const releases = Array.from({ length: places }, () => take('one'));
      expect(() => take('one'))
        .to.throw('of this account or address')
        .with.property('code', 'queue_full');
      for (const owner of ['two', 'two', 'two', 'three', 'three']) releases.push(take(owner));
      expect(() => take('four'))
        .to.throw('Too many request bodies are')
        .with.property('retryAfterSeconds', 1);
      for (const release of [...releases, ...releases]) release();
      expect(room.taken()).to.deep.equal({ small: 0, big: 0 });
      const again = ['one', 'one', 'one', 'four'].map(take);
      for (const release of again) release();
    }
  });

  it('counts received bytes, not announced ones', () => {
    const room = new BodyBudget({ smallBytes: 8_000, bigBodies: 1 });
    const places = Array.from({ length: 1_000 }, () => room.open('one', noEnd));
    for (const place of places) place.add(1);
    expect(room.taken().small).to.equal(1_000 / 8_000);
    expect(room.taken().big).to.equal(0);
    for (const place of places) place.release();
  });

  it('counts a large body among the large ones, and no longer among the small ones', () => {
    const room = new BodyBudget({ bigBodies: 8 });
    const place = room.open('one', noEnd);
    place.add(1024 * 1024);
    expect(room.taken().big).to.equal(0);
    place.add(1);
    expect(room.taken()).to.deep.equal({ small: 0, big: 1 / 8 });
    place.release();
    expect(room.taken()).to.deep.equal({ small: 0, big: 0 });
  });

  it('is shared out to workers, of which each leaves one owner room for a body of any size, and others, too', () => {
    for (const workers of [2, 3, 8, 64]) {
      const room = new BodyBudget({ workers });
      const open = (owner: string, bytes: number) => {
        const place = room.open(owner, noEnd);
        place.arrived();
        place.add(bytes);
        return place;
      };
      const places = [open('one', 1_048_576), open('one', 2_000_000), open('one', 2_000_000)];
      expect(() => open('one', 2_000_000)).to.throw('of this account or address');
      places.push(open('two', 1_048_576), open('two', 2_000_000));
      for (const place of places) place.release();
    }
  });

  it('ends bodies of the largest owner, also if they are replaced before they count as slow', async () => {
    const room = new BodyBudget({ smallBytes: 80_000 });
    const open = (owner: string, bytes: number, end: (error: GatewayError) => void) => {
      const place = room.open(owner, end);
      try {
        place.add(bytes);
        return place;
      } catch {
        place.release();
        return undefined;
      }
    };
    const ended: string[] = [];
    const attackers = ['one', 'one', 'one', 'two', 'two', 'two', 'three'].map((owner) => ({
      owner,
      openedAt: 0,
      place: undefined as ReturnType<typeof open>,
    }));
    const refresh = () => {
      for (const attacker of attackers) {
        if (attacker.place && performance.now() - attacker.openedAt < 500) continue;
        attacker.place?.release();
        attacker.openedAt = performance.now();
        attacker.place = open(attacker.owner, 10_000 - 1, ({ code }) => {
          attacker.place = undefined;
          ended.push(`${attacker.owner} ${code}`);
        });
      }
    };
    const kept = open('small', 1_000, ({ code }) => ended.push(`small ${code}`));
    const newcomer = await until(() => {
      refresh();
      return open('newcomer', 9_500, noEnd);
    });
    expect(ended).to.have.lengthOf(1).and.not.to.include('small request_timeout');
    for (const place of [newcomer, kept, ...attackers.map(({ place }) => place)]) place?.release();
    expect(room.taken().small).to.equal(0);
  });

  it('ends large bodies that arrive quickly and stall, long before the interval is over', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const room = new BodyBudget({ paceMs: 50_000 });
      const ended: string[] = [];
      const open = (owner: string, bytes: number) => {
        const place = room.open(owner, ({ code }) => ended.push(`${owner} ${code}`));
        place.add(bytes);
        return place;
      };
      const gigabyte = 1_000_000_000;
      const stalled = ['one', 'one', 'one', 'two', 'two', 'two', 'three'].map((owner) => open(owner, gigabyte));
      const busy = open('busy', gigabyte);
      mock.timers.tick(10_000);
      mock.timers.tick(10_000);
      busy.add(gigabyte);
      const newcomer = await until(() => {
        const place = room.open('newcomer', noEnd);
        try {
          place.add(2_000_000);
          return place;
        } catch {
          place.release();
          return undefined;
        }
      });
      expect(ended).to.have.lengthOf(1).and.not.include('busy request_timeout');
      for (const place of [newcomer, busy, ...stalled]) place.release();
      expect(room.taken().big).to.equal(0);
    } finally {
      mock.timers.reset();
    }
  });

  it("counts a large body beyond its owner's share as refused, and none that others leave no place for", () => {
    const refused: string[] = [];
    const refusals = { max: 60, blockedFor: () => undefined, add: (owner: string) => void refused.push(owner) };
    const room = new BodyBudget({ bigBodies: 8, refusals });
    const places: BodyReservation[] = [];
    const open = (owner: string) => {
      const place = room.open(owner, noEnd);
      places.push(place);
      place.add(2_000_000);
    };
    for (const owner of ['one', 'one', 'one']) open(owner);
    expect(() => open('one')).to.throw('of this account or address');
    expect(refused).to.deep.equal(['one']);
    for (const owner of ['two', 'two', 'two', 'three', 'three']) open(owner);
    expect(() => open('four')).to.throw('Too many request bodies are');
    expect(refused).to.deep.equal(['one']);
    for (const place of places) place.release();
    expect(room.taken().big).to.equal(0);
  });

  it('names the owner of an address by its network', () => {
    expect(networkOwner('192.0.2.7')).to.equal(networkOwner('192.0.2.200')).and.to.equal('from 192.0.2');
    expect(networkOwner('::ffff:192.0.2.7')).to.equal('from 192.0.2');
    expect(networkOwner('192.0.3.7')).not.to.equal(networkOwner('192.0.2.7'));
    expect(networkOwner('2001:db8:0:1::7')).to.equal(networkOwner('2001:db8::1:9:9:9:9'));
    expect(networkOwner('2001:db8:0:2::7')).not.to.equal(networkOwner('2001:db8:0:1::7'));
  });
});
