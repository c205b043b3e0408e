/*
 * The home page: what the gateway does, with an example request for each kind of work, and the plans. The examples have
 * the address of this gateway, and the lists of platforms and models are those that are ready here. The visitor's next
 * step depends on whether they are signed in.
 */

import { codeBlock, type Html, html, type Page } from '../page.js';
import type { PlanView } from '../views.js';
import { renderPlanCards } from './plans.js';

export interface HomeView {
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
  /** Names of the ready platforms. */
  platforms: readonly string[];
  /** Number of ready models of each kind. */
  models: Readonly<Record<'text' | 'audio' | 'image', number>>;
  plans: readonly PlanView[];
  isSignedIn: boolean;
}

export function homePage(view: HomeView): Omit<Page, 'viewer'> {
  const { baseUrl, plans, isSignedIn } = view;
  return {
    title: 'Link data, images and models behind one key',
    description:
      'A self-hosted gateway: public links become structured data, prompts become images, and models answer.',
    scripts: ['api-forms.js'],
    content: html`<div class="frame hero">
<div class="hero-words">
<h1>Links in.<br>Documents out.</h1>
<p>Your own gateway reads public links, creates images as durable jobs, and offers text and audio models in the format of
OpenAI’s SDKs. One key for all of it.</p>
<div class="row">
${isSignedIn ? html`<a class="button" href="/dashboard">Open the dashboard</a>` : html`<a class="button" href="/login">Sign in and get a key</a>`}
<a class="button button-quiet" href="/setup">See the setup</a>
</div>
</div>
<div class="hero-code">
${codeBlock({ id: 'hero-request', title: 'Request', text: linkRequest(baseUrl) })}
<figure class="code"><figcaption class="code-head">Answer, shortened</figcaption>
<pre tabindex="0" role="region" aria-label="Answer, shortened"><code>${LINK_ANSWER}</code></pre></figure>
</div>
</div>
${renderJobs(view)}
<section class="frame section" aria-labelledby="plans">
<div class="section-head"><h2 id="plans">Plans</h2><p>Input and output tokens count together. What you buy adds up. Keys can use what the plan includes.</p></div>
${renderPlanCards(plans, isSignedIn)}
</section>
<section class="frame section" aria-labelledby="how">
<div class="section-head"><h2 id="how">How to start</h2></div>
<ol class="steps">
<li><h3>Sign in</h3><p>With the identity provider you already have. This site never sees your password.</p></li>
<li><h3>Create a key</h3><p>It is shown once. Keep it in an environment variable, never in a page or an app.</p></li>
<li><h3>Send a request</h3><p>With curl, an OpenAI SDK or a coding agent: the setup page has an example of each.</p></li>
</ol>
</section>`,
  };
}

function renderJobs({ baseUrl, platforms, models }: HomeView): Html {
  return html`<section class="frame section" aria-labelledby="jobs">
<div class="section-head"><h2 id="jobs">Three jobs, one key</h2></div>
<article class="job"><div class="stack"><h3>Link data</h3>
<p class="muted">Title, author, numbers, media, reviews: a document with the same members for every platform, and an honest
error where a link cannot be read. Videos come with an MP3.</p>
${platforms.length > 0 && html`<ul class="chips" aria-label="Platforms">${platforms.map((name) => html`<li class="badge">${name}</li>`)}</ul>`}</div>
${codeBlock({ id: 'job-batch', title: 'Fifty links at once', text: batchRequest(baseUrl) })}</article>
<article class="job"><div class="stack"><h3>Images</h3>
<p class="muted">Each image is a job that survives a crash: submit many, poll each, show each as it completes. You get exactly
the size you ask for, and can send up to four input images.</p></div>
${codeBlock({ id: 'job-image', title: 'One image as a job', text: imageRequest(baseUrl) })}</article>
<article class="job"><div class="stack"><h3>Text and sound</h3>
<p class="muted">${modelWords(models)} Chats and responses stream through untouched. Speech, transcripts and sound effects
have routes of their own.</p></div>
${codeBlock({ id: 'job-text', title: 'With the OpenAI SDK', text: textRequest(baseUrl) })}</article>
</section>`;
}

function modelWords({ text, audio }: HomeView['models']): string {
  return `${text} text models and ${audio} audio models are ready.`;
}

const LINK_ANSWER = `{
  "ok": true,
  "platform": "vidsite",
  "data": {
    "common": {
      "title": "A morning on the Ostend tugs",
      "author": { "name": "Harbour Notes" },
      "duration_seconds": 601
    },
    "metrics": { "views": 1204377, "likes": 48213 },
    "media": {
      "audio_download_links": { "mp3": "https://…" }
    }
  }
}`;

function linkRequest(baseUrl: string): string {
  return `curl ${baseUrl}/v1/extract \\
  -H "Authorization: Bearer $MEDIAGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"url":"https://youtu.be/Tugs0fOst3n"}'`;
}

function batchRequest(baseUrl: string): string {
  return `curl ${baseUrl}/v1/extract/batch \\
  -H "Authorization: Bearer $MEDIAGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"urls":["https://…","https://…"]}'`;
}

function imageRequest(baseUrl: string): string {
  return `curl ${baseUrl}/v1/images/jobs \\
  -H "Authorization: Bearer $MEDIAGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: harbour-1" \\
  -d '{"model":"gen-img-2","prompt":"A tug at dawn"}'`;
}

function textRequest(baseUrl: string): string {
  return `const client = new OpenAI({
  baseURL: '${baseUrl}/v1',
  apiKey: process.env.MEDIAGATE_API_KEY,
});
const answer = await client.responses.create({
  model: 'm-5.5',
  input: 'Name three harbours.',
});`;
}
