/*
 * Submits an image job, and says before what its images cost. Each submission is a new request, but an answer that is lost
 * is asked for again with the same idempotency key, so that it makes one image: by itself, and when the same request is
 * sent again.
 */

import { newIdempotencyKey, pause, playJson, RequestProblem, textAt } from './requests.js';
import { fill, pageLanguage, textsOf } from './texts.js';

const TRIES = 3;
const TRY_MS = 1_000;
const t = textsOf('images');

/** Idempotency keys of the last request that had no answer. */
let unanswered: { sent: string; keys: string[] } = { sent: '', keys: [] };

/** The id of the job. @throws RequestProblem */
export async function submitImage(request: Readonly<Record<string, unknown>>): Promise<string> {
  const sent = JSON.stringify(request);
  if (unanswered.sent !== sent) unanswered = { sent, keys: [] };
  const { keys } = unanswered;
  const idempotencyKey = keys.shift() ?? newIdempotencyKey();
  const how = { method: 'POST', json: request, idempotencyKey } as const;
  for (let tries = 1; ; tries += 1) {
    try {
      return textAt(await playJson('/v1/images/jobs', how), 'id') ?? '';
    } catch (error) {
      if (!(error instanceof RequestProblem && error.status === 0)) throw error;
      if (tries === TRIES) {
        keys.push(idempotencyKey);
        throw new RequestProblem(t.unanswered, error.code, 0);
      }
      await pause(TRY_MS);
    }
  }
}

/** What a form asks for. */
export interface AskedImages {
  /** `1024x1024` or `auto`. */
  size: string;
  count: number;
}

/**
 * Says what the images cost that a form asks for, and follows its choice. What is said of a model without prices of images
 * stays. It is called after the form has its own listeners.
 */
export function showImageCost(form: HTMLFormElement, asked: () => AskedImages): void {
  const shown = form.querySelector<HTMLElement>('.run-cost');
  const model = form.elements.namedItem('model');
  if (!shown || !(model instanceof HTMLSelectElement)) return;
  const { currency = '' } = shown.dataset;
  const format = new Intl.NumberFormat(pageLanguage(), { style: 'currency', currency, maximumFractionDigits: 6 });
  const show = () => {
    const { costs } = model.selectedOptions[0]?.dataset ?? {};
    if (costs === undefined) return;
    const { size, count } = asked();
    const bySize: Record<string, [amount: number, isHighest: boolean]> = JSON.parse(costs);
    const [amount, isHighest = false] = bySize[size] ?? [];
    const price = amount === undefined ? '' : format.format((amount * count) / 1_000_000);
    const words = fill(count === 1 ? t.costOfOne : t.costOfSome, {
      price: isHighest ? fill(t.upTo, { price }) : price,
      count,
    });
    shown.textContent = amount === undefined ? '' : amount === 0 ? t.free : words;
  };
  form.addEventListener('change', show);
  show();
}
