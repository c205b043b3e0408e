import type { Page } from '../page.js';
import { html } from '../page.js';

/** @param files Path that the files of the viewer lie under. */
export function referencePage(files: string): Omit<Page, 'viewer'> {
  return {
    title: 'API reference',
    description: 'Every route of the gateway, what it takes and what it answers.',
    current: '/docs',
    scripts: ['reference.js'],
    content: html`<link rel="stylesheet" href="${files}/swagger-ui.css">
<div class="frame">
<div class="page-head"><h1>API reference</h1><p>Generated from the schemas that check requests. Programs can read <a href="/openapi.json">openapi.json</a>, and agents <a href="/api/agent/manifest">the manifest</a>.</p></div>
<p class="needs-no-script notice">The viewer needs scripts; <a href="/openapi.json">openapi.json</a> says the same.</p>
<div id="reference" class="reference"></div>
</div>
<script src="${files}/swagger-ui-bundle.js" defer></script>`,
  };
}
