/** Dates and durations in the notations of platforms. */

import { expect } from 'chai';
import fc from 'fast-check';
import { parseDuration, toIsoTime } from '../../../../core/extraction/scraping/dates.js';

describe('toIsoTime', () => {
  const readings: readonly [unknown, string][] = [
    [1_700_000_000, '2023-11-14T22:13:20Z'],
    [1_700_000_000_123, '2023-11-14T22:13:20.123Z'],
    [1_700_000_000_123_000, '2023-11-14T22:13:20.123Z'],
    ['1700000000', '2023-11-14T22:13:20Z'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
    ['2024-02-29T10:11', '2024-02-29T10:11:00Z'],
    ['2024-02-29 10:11:12', '2024-02-29T10:11:12Z'],
    ['2024-02-29T10:11:12-0730', '2024-02-29T10:11:12-07:30'],
    ['2024-02-29t10:11:12.5z', '2024-02-29T10:11:12.5Z'],
    ['Tue, 05 Mar 2024 10:00:00 GMT', '2024-03-05T10:00:00Z'],
    ['Wed Oct 10 20:19:24 +0000 2018', '2018-10-10T20:19:24Z'],
    ['Mar 5, 2024', '2024-03-05T00:00:00Z'],
    ['5 September 2024', '2024-09-05T00:00:00Z'],
  ];
  for (const [value, time] of readings) {
    it(`reads ${JSON.stringify(value)}`, () => expect(toIsoTime(value)).to.equal(time));
  }
  for (const value of [
    '2024-02-30',
    '2024-13-01',
    '2024-01-01T25:00:00Z',
    '1999-12-31',
    '2101-01-01',
    '05/03/2024',
    'yesterday',
    '',
    null,
    {},
    0,
    -1,
    12,
    Number.NaN,
    '2024',
  ]) {
    it(`reads nothing in ${JSON.stringify(value)}`, () => expect(toIsoTime(value)).to.equal(undefined));
  }

  it('keeps the instant, and reads its own output unchanged', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('2000-01-01'), max: new Date('2100-12-31'), noInvalidDate: true }),
        (date) => {
          const time = toIsoTime(date.toISOString());
          expect(Date.parse(time ?? '')).to.equal(date.getTime());
          expect(toIsoTime(time)).to.equal(time);
          expect(Date.parse(toIsoTime(date.getTime()) ?? '')).to.equal(date.getTime());
        },
      ),
    );
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.anything(), (value) => void toIsoTime(value)));
  });
});

describe('parseDuration', () => {
  const readings: Readonly<Record<string, number | undefined>> = {
    PT1H2M3S: 3723,
    PT47S: 47,
    'PT1.5S': 1.5,
    P1DT2S: 86_402,
    P1W: 604_800,
    P0D: 0,
    '0:07': 7,
    '12:34': 754,
    '1:02:03': 3723,
    '1:00:00:00': 86_400,
    P: undefined,
    PT: undefined,
    '12': undefined,
    '1:2': undefined,
    'about 3:20': undefined,
    '': undefined,
  };
  for (const [text, seconds] of Object.entries(readings)) {
    it(`reads ${JSON.stringify(text)} as ${seconds}`, () => expect(parseDuration(text)).to.equal(seconds));
  }
});
