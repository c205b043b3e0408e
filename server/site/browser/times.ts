/*
 * Times in the zone of the visitor. The server writes them by UTC, which is what stays without scripts. Times of the day
 * are written again in the visitor's zone, and every time says its moment by UTC at the mouse. Dates alone stay as they
 * are: a plan ends and a receipt is dated on the same day in every zone.
 */

const DATES = 'en-GB';
const UTC = { timeZone: 'UTC', timeZoneName: 'short' } as const;
const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/** By the language of the page, as the server writes them. */
export function showLocalTimes(root: Document): void {
  const isVietnamese = root.documentElement.lang === 'vi';
  const day = new Intl.DateTimeFormat(
    DATES,
    isVietnamese ? { day: '2-digit', month: '2-digit' } : { day: 'numeric', month: 'short' },
  );
  const clocks: Readonly<Record<string, Intl.DateTimeFormat>> = {
    minute: new Intl.DateTimeFormat(DATES, CLOCK),
    second: new Intl.DateTimeFormat(DATES, { ...CLOCK, second: '2-digit' }),
    clock: new Intl.DateTimeFormat(DATES, { ...CLOCK, second: '2-digit' }),
  };
  const whole = new Intl.DateTimeFormat(isVietnamese ? 'vi-VN' : DATES, {
    ...{ day: 'numeric', month: isVietnamese ? 'numeric' : 'short', year: 'numeric' },
    ...{ ...CLOCK, second: '2-digit' },
    ...UTC,
  });
  for (const time of root.querySelectorAll<HTMLTimeElement>('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = whole.format(at);
    const clock = clocks[time.dataset.time ?? ''];
    if (!clock || at.getTimezoneOffset() === 0) continue;
    // Its title has the day by UTC, which may be another one here.
    const isOfTitle = time.dataset.time === 'clock' && at.getDate() === at.getUTCDate();
    time.textContent = isOfTitle ? clock.format(at) : `${day.format(at)}, ${clock.format(at)}`;
  }
}
