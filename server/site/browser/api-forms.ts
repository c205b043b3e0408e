import { confirm } from './confirmation.js';
import { memberOf, RequestProblem, requestJson } from './json-request.js';

/**
 * Forms with `data-api="POST /path"` send their fields as JSON; `data-problem="id"` is where they say what went wrong. Before:
 * `data-confirm` asks. After: `data-then="/path/{member}"` goes there; `data-show="id"` shows the member that `data-key` names,
 * once.
 */
function startApiForm(form: HTMLFormElement): void {
  const problem = document.getElementById(form.dataset.problem ?? '');
  const button = form.querySelector('button');

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (button?.getAttribute('aria-disabled') === 'true' || !(await isMeant(form))) return;
    if (problem) problem.textContent = '';
    button?.setAttribute('aria-disabled', 'true');
    try {
      const [method = 'POST', path = ''] = (form.dataset.api ?? '').split(' ');
      finish(form, await requestJson(method, path, fieldsOf(form)));
    } catch (error) {
      if (error instanceof RequestProblem && error.status === 401) location.assign(signInPath());
      else if (problem) problem.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      button?.removeAttribute('aria-disabled');
    }
  });
}

async function isMeant({ dataset }: HTMLFormElement): Promise<boolean> {
  const { confirm: words, confirmLabel = 'Yes', confirmBad } = dataset;
  return words === undefined || confirm({ words, yes: confirmLabel, isBad: confirmBad !== undefined });
}

function fieldsOf(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
}

function finish(form: HTMLFormElement, answer: unknown): void {
  const { then, show, key } = form.dataset;
  if (show !== undefined && key !== undefined) showOnce(show, memberOf(answer, key));
  if (then === undefined) return;
  location.assign(
    then.replace(/\{([\w.]+)\}/g, (_whole, path: string) => encodeURIComponent(memberOf(answer, path) ?? '')),
  );
}

function showOnce(id: string, text: string | undefined): void {
  const place = document.getElementById(id);
  const panel = place?.closest<HTMLElement>('[hidden]');
  if (!place || text === undefined) return;
  place.textContent = text;
  panel?.removeAttribute('hidden');
  panel?.focus();
}

function signInPath(): string {
  return `/login?return_to=${encodeURIComponent(location.pathname)}`;
}

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-api]')) startApiForm(form);
