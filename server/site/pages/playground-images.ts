import { NAMED_SIZES } from '../../images/index.js';
import { type Html, html } from '../html.js';
import { scriptedButton } from '../pieces.js';
import type { PlaygroundView } from '../playground-view.js';
import { fileDrop, modelSelect, workForm } from './playground-pieces.js';

const COUNTS = [1, 2, 3, 4, 6, 8] as const;

export function imagesPanel(view: PlaygroundView): Html {
  const { image } = view.models;
  return html`<h2 class="visually-hidden">Images</h2>
${workForm({
  id: 'image-form',
  card: true,
  page: view,
  grant: 'images',
  models: image,
  content: html`<div class="field"><label for="image-prompt">Prompt</label>
<textarea class="input" id="image-prompt" name="prompt" required maxlength="32000" rows="3" placeholder="A tug in the harbour at dawn"></textarea></div>
<div class="options">
${modelSelect('image-model', image)}
<div class="field"><label for="image-size">Size</label><select class="input" id="image-size" name="size">${NAMED_SIZES.map((size) => html`<option value="${size}">${size.replace('x', ' × ')}</option>`)}<option value="auto">Let the model decide</option></select></div>
<div class="field"><label for="image-count">Number of images</label><select class="input" id="image-count" name="count">${COUNTS.map((count) => html`<option>${count}</option>`)}</select></div>
</div>
${fileDrop({ id: 'image-references', param: 'image', label: 'Input images', words: 'Drop up to four here: PNG, JPEG, WebP or GIF, 10 MB each.', accept: 'image/png,image/jpeg,image/webp,image/gif', multiple: true })}
<div class="row">${scriptedButton('Create images')}<span class="small muted">Each image is one job and counts as one request.</span></div>`,
})}
<p class="visually-hidden" id="image-news" role="status"></p>
<ul class="image-cards" id="image-cards" aria-label="Images"></ul>`;
}
