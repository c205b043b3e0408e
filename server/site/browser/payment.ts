import { memberOf, RequestProblem, requestJson } from './requests.js';

/** Seconds that the gateway holds on to a question while nothing changes. */
const WAIT_S = 25;
const BETWEEN_MS = 1_000;
/** After a failure. */
const PAUSE_MS = 5_000;

const page = document.querySelector<HTMLElement>('[data-payment]');
const timer = document.querySelector<HTMLElement>('[data-left]');
const waiting = document.querySelector<HTMLElement>('[data-waiting]');

if (timer) {
  // By the time that goes by, and not by what the clock of this computer says it is.
  const endsAt = Date.now() + Number(timer.dataset.left);
  const tick = () => {
    timer.textContent = timeLeft(endsAt - Date.now());
  };
  tick();
  setInterval(tick, 1_000);
}

if (page && timer) void follow(page.dataset.payment ?? '', page.dataset.state ?? '');

/** Asks until the order stands differently, then shows the page as it is then. */
async function follow(code: string, before: string): Promise<void> {
  const words = waiting?.textContent ?? '';
  let wait = WAIT_S;
  for (;;) {
    try {
      const path = `/api/payment/gateway?code=${encodeURIComponent(code)}&wait=${wait}`;
      const answer = await requestJson('GET', path);
      const now = `${memberOf(answer, 'payment.status')} ${memberOf(answer, 'payment.paidAmount')}`;
      if (now !== before) return location.reload();
      say(words);
      wait = WAIT_S;
      await pause(BETWEEN_MS);
    } catch (error) {
      if (error instanceof RequestProblem && error.status === 404) return;
      say('No connection: the gateway is asked again');
      // Whether the gateway is there again is told at once.
      wait = 0;
      await pause(PAUSE_MS);
    }
  }
}

/** Once: what is said again is read out again. */
function say(words: string): void {
  if (waiting && waiting.textContent !== words) waiting.textContent = words;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** As the page was made with. */
function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
