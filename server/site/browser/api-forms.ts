import { confirm } from './confirmation.js';
import { memberOf, RequestProblem, requestJson } from './json-request.js';
import { signInPath } from './problem.js';
import { onSubmit } from './work.js';

/**
 * Forms with `data-api="POST /path"` send their fields as JSON; `data-problem="id"` is where they say what went wrong. Before:
 * `data-confirm` asks. After: `data-then="/path/{member}"` goes there; `data-show="id"` shows the member that `data-key` names,
 * once.
 */
function startApiForm(form: HTMLFormElement): void {
  const [method = 'POST', path = ''] = (form.dataset.api ?? '').split(' ');

  async function send(fields: FormData): Promise<void> {
    if (!(await isMeant(form))) return;
    try {
      finish(form, await requestJson(method, path, textsOf(fields)));
    } catch (error) {
      if (!(error instanceof RequestProblem) || error.status !== 401) throw error;
      location.assign(signInPath());
    }
  }

  onSubmit(form, send, document.getElementById(form.dataset.problem ?? ''));
}

async function isMeant({ dataset }: HTMLFormElement): Promise<boolean> {
  const { confirm: words, confirmLabel = 'Yes', confirmBad } = dataset;
  return words === undefined || confirm({ words, yes: confirmLabel, isBad: confirmBad !== undefined });
}

function textsOf(fields: FormData): Record<string, string> {
  return Object.fromEntries([...fields].map(([name, value]) => [name, String(value).trim()]));
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

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-api]')) startApiForm(form);
