import { type Html, html } from '../html.js';
import type { Page } from '../page.js';
import type { PlaygroundView } from '../playground-view.js';
import { imagesPanel } from './playground-images.js';
import { linksPanel } from './playground-links.js';
import { modelsPanel } from './playground-models.js';

const TABS = [
  { id: 'links', label: 'Links', panel: linksPanel },
  { id: 'images', label: 'Images', panel: imagesPanel },
  { id: 'models', label: 'Models', panel: modelsPanel },
] as const;

export function playgroundPage(view: PlaygroundView): Omit<Page, 'viewer'> {
  return {
    title: 'Playground',
    current: '/playground',
    scripts: [
      'tabs.js',
      'playground-links.js',
      'playground-images.js',
      'playground-chat.js',
      'playground-speech.js',
      'playground-hearing.js',
    ],
    content: html`<div class="frame playground" data-base-url="${view.baseUrl}">
<div class="page-head"><h1>Playground</h1><p>Requests from this page count like any others. ${whoAsks(view)}</p></div>
${view.key === undefined && html`<div class="notice notice-warn row row-apart playground-notice"><span>This account has no valid API key, and requests from here need one.</span><a class="button button-small" href="/dashboard">Create a key</a></div>`}
<p class="needs-no-script notice">The playground needs scripts. <a href="/setup">The setup page</a> shows the same requests with curl.</p>
<div class="tabs needs-script">
<div role="tablist" aria-label="What to try" class="tab-list">${TABS.map(
      ({ id, label }, index) =>
        html`<button type="button" class="tab" role="tab" id="tab-${id}" aria-controls="${id}" aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${label}</button>`,
    )}</div>
${TABS.map(
  ({ id, panel }, index) =>
    html`<section class="tab-panel stack" id="${id}" role="tabpanel" aria-labelledby="tab-${id}"${index > 0 && html` hidden`}>${panel(view)}</section>`,
)}
</div>
</div>`,
  };
}

function whoAsks({ key }: PlaygroundView): Html | false {
  return key !== undefined && html`They use your key <code>${key.name}</code>, which never reaches this page.`;
}
