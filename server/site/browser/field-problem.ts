import { RequestProblem } from './json-request.js';

/** Something that was not filled in as it must be, found before anything is sent. */
export class FieldProblem extends Error {
  /** @param field Its name in the form. */
  constructor(
    message: string,
    readonly field: string,
  ) {
    super(message);
  }
}

/**
 * Ties what went wrong to the field that it is about, and goes there: one whose name, or `data-param`, is the member of the
 * request that the gateway named.
 */
export function markField(form: HTMLFormElement, problem: Element | null, error: unknown): void {
  const name = error instanceof FieldProblem ? error.field : error instanceof RequestProblem ? error.param : undefined;
  const field = name === undefined || !problem ? undefined : fieldOf(form, name);
  if (!field || !problem) return;
  problem.id ||= `${form.id}-problem`;
  field.setAttribute('aria-invalid', 'true');
  const described = field.getAttribute('aria-describedby');
  field.dataset.described ??= described ?? '';
  field.setAttribute('aria-describedby', [problem.id, described].filter(Boolean).join(' '));
  reveal(field);
  field.focus();
}

export function unmarkFields(form: HTMLFormElement): void {
  for (const field of form.querySelectorAll<HTMLElement>('[aria-invalid]')) {
    const { described = '' } = field.dataset;
    field.removeAttribute('aria-invalid');
    delete field.dataset.described;
    if (described === '') field.removeAttribute('aria-describedby');
    else field.setAttribute('aria-describedby', described);
  }
}

/** Nobody can be led to a field in a part that is folded up. */
export function reveal(field: Element): void {
  field.closest('details')?.setAttribute('open', '');
}

/** @param param `prompt`, `messages[0].content`. */
function fieldOf(form: HTMLFormElement, param: string): HTMLElement | undefined {
  const [name] = param.split(/[.[]/);
  return [...form.querySelectorAll<HTMLElement>('input, select, textarea')].find(
    (field) => field.getAttribute('type') !== 'hidden' && (field.dataset.param ?? field.getAttribute('name')) === name,
  );
}
