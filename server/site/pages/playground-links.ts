import { type Html, html } from '../html.js';
import { scriptedButton } from '../pieces.js';
import type { PlaygroundView } from '../playground-view.js';
import { workForm } from './playground-pieces.js';

export function linksPanel(view: PlaygroundView): Html {
  const { platforms } = view;
  return html`<h2 class="visually-hidden">Links</h2>
${workForm({
  id: 'link-form',
  card: true,
  page: view,
  grant: 'extract',
  content: html`<div class="form-row">
<div class="field"><label for="link-url">Public link</label>
<input class="input" id="link-url" name="url" type="url" required maxlength="2048" placeholder="https://" autocomplete="off" spellcheck="false" inputmode="url"></div>
${scriptedButton('Extract')}
</div>
<details><summary>Options</summary><div class="options">
<div class="field"><label for="link-reviews">Reviews of a product, at most</label><input class="input" id="link-reviews" name="reviews" data-param="clip_review_limit" type="number" min="1" max="100" value="10"></div>
<div class="field"><label for="link-sort">Order of the reviews</label><select class="input" id="link-sort" name="sort" data-param="clip_sort"><option value="recommended">Recommended</option><option value="latest">Latest</option></select></div>
<label class="check"><input type="checkbox" name="audio" checked> Include an MP3 link</label>
<label class="check"><input type="checkbox" name="background"> Products as a background job</label>
</div></details>
<details><summary>Supported links</summary><dl class="link-forms">${platforms.map(({ name, linkForms }) => html`<div><dt>${name}</dt>${linkForms.map((form) => html`<dd><code>${form}</code></dd>`)}</div>`)}</dl></details>`,
})}
<p class="work" id="link-work" role="status"></p>
<div class="stack" id="link-result" tabindex="-1"></div>`;
}
