/*
 * Follows an open order on the payment page: it shows the time left, waits for a change, and then loads the page again.
 */

import { timeLeft } from './elements.js';
import { fieldOf, pause, RequestProblem, requestJson } from './requests.js';
import { textsOf } from './texts.js';

/** Seconds that the gateway holds a request while nothing changes. */
const WAIT_S = 25;
const BETWEEN_MS = 1_000;
/** Seconds after a failure. */
const PAUSE_MS = 5_000;

const page = document.querySelector<HTMLElement>('[data-payment]');
const timer = document.querySelector<HTMLElement>('[data-left]');
const waiting = document.querySelector<HTMLElement>('[data-waiting]');

if (timer) {
  // By elapsed time, not by the clock of this computer.
  const endsAt = Date.now() + Number(timer.dataset.left);
  const tick = () => {
    timer.textContent = timeLeft(endsAt - Date.now());
  };
  tick();
  setInterval(tick, 1_000);
}

if (page && timer) void follow(page.dataset.payment ?? '', page.dataset.state ?? '');

/** Polls until the order changes, then displays the new page. */
async function follow(code: string, before: string): Promise<void> {
  const words = waiting?.textContent ?? '';
  let wait = WAIT_S;
  for (;;) {
    try {
      const path = `/api/payment/gateway?code=${encodeURIComponent(code)}&wait=${wait}`;
      const answer = await requestJson('GET', path);
      const now = `${fieldOf(answer, 'payment.status')} ${fieldOf(answer, 'payment.paidAmount')}`;
      if (now !== before) return location.reload();
      announce(words);
      wait = WAIT_S;
      await pause(BETWEEN_MS);
    } catch (error) {
      if (error instanceof RequestProblem && error.status === 404) return;
      announce(textsOf('payment').noConnection);
      // Reports at once when the gateway is available again.
      wait = 0;
      await pause(PAUSE_MS);
    }
  }
}

/** Once: a repeated text would be read out again. */
function announce(words: string): void {
  if (waiting && waiting.textContent !== words) waiting.textContent = words;
}
