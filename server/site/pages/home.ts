/*
 * The home page: what the gateway does, with an example request and its result for each kind of work, and the plans. The examples have
 * the address of this gateway, and the lists of platforms and models are those that are ready here. The visitor's next
 * step depends on whether they are signed in.
 */

import { EXAMPLE_LINK, exampleChat, exampleDocument, exampleImage, exampleImages } from '../components/examples.js';
import type { Locale } from '../language/index.js';
import { codeBlock, codeText, type Html, html, type Page } from '../page.js';
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
  /** Whether a plan, or the visitor's own, includes link data. Without, the page does not advertise it. */
  hasLinks: boolean;
  isSignedIn: boolean;
}

export function homePage(view: HomeView, locale: Locale): Omit<Page, 'viewer'> {
  const { plans, hasLinks, isSignedIn } = view;
  const { home: all } = locale.texts;
  const t = hasLinks ? all : { ...all, ...all.withoutLinks };
  const quiet = hasLinks && ' button-quiet';
  const { isOwn } = locale.brand;
  return {
    title: t.title,
    description: isOwn ? t.ownDescription : t.description,
    styles: ['examples.css', 'home.css', 'plan-cards.css', 'code.css'],
    scripts: ['api-forms.js'],
    content: html`<div class="frame hero">
<div class="hero-words">
<h1>${t.headline}</h1>
<p>${isOwn ? t.ownLead : t.lead}</p>
${hasLinks && linkForm(isSignedIn, locale)}
<div class="row">
${isSignedIn ? html`<a class="button${quiet}" href="/dashboard">${t.openDashboard}</a>` : html`<a class="button${quiet}" href="/login">${t.getKey}</a>`}
<a href="/setup">${t.seeSetup}</a>
</div>
</div>
${hasLinks ? exampleDocument(locale, 'below') : exampleImage(locale)}
</div>
${renderJobs(view, locale)}
<section class="frame section home-plans" aria-labelledby="plans">
<div class="section-head"><h2 id="plans">${t.plans}</h2><p>${t.plansWords}</p></div>
${renderPlanCards({ plans, isSignedIn }, locale)}
<p class="home-compare"><a href="/plans">${t.compare}</a></p>
</section>
<section class="frame section" aria-labelledby="how">
<div class="section-head"><h2 id="how">${t.howTitle}</h2></div>
<ol class="steps">
${t.steps.map(({ title, words }) => html`<li><h3>${title}</h3><p>${words}</p></li>`)}
</ol>
</section>`,
  };
}

/** Leads to the playground with the link; a sign-in in between keeps it. */
function linkForm(isSignedIn: boolean, { texts: { home: t } }: Locale): Html {
  return html`<form class="hero-link" action="/playground"><div class="form-row"><div class="field"><label class="visually-hidden" for="hero-link">${t.pasteLink}</label><input class="input" id="hero-link" name="link" type="url" required maxlength="2048" placeholder="${t.pasteLink}" autocomplete="off" spellcheck="false"></div><button class="button">${t.extract}</button></div>${!isSignedIn && html`<p class="small muted">${t.keepsLink}</p>`}</form>
`;
}

function renderJobs({ baseUrl, platforms, models, hasLinks }: HomeView, locale: Locale): Html {
  const t = locale.texts.home;
  return html`<section class="frame section" aria-labelledby="jobs">
<div class="section-head"><h2 id="jobs">${hasLinks ? t.jobsTitle : t.withoutLinks.jobsTitle}</h2></div>
${
  hasLinks &&
  html`<article class="job"><div class="stack"><h3>${t.links}</h3>
<p class="muted">${t.linksWords}</p>
${platforms.length > 0 && html`<ul class="chips" aria-label="${t.platforms}">${platforms.map((name) => html`<li class="badge">${name}</li>`)}</ul>`}</div>
${folded(
  html`${codeBlock({ id: 'job-link', title: t.request, text: linkRequest(baseUrl), language: 'sh' }, locale)}
<figure class="code"><figcaption class="code-head">${t.answer}</figcaption>
<pre tabindex="0" role="region" aria-label="${t.answer}"><code lang="en">${codeText(LINK_ANSWER, 'json')}</code></pre></figure>`,
  locale,
)}</article>`
}
<article class="job"><div class="stack"><h3>${t.images}</h3>
<p class="muted">${t.imagesWords}</p></div>
<div class="stack">${hasLinks && exampleImages(locale)}
${folded(codeBlock({ id: 'job-image', title: t.imageJob, text: imageRequest(baseUrl), language: 'sh' }, locale), locale)}</div></article>
<article class="job"><div class="stack"><h3>${t.text}</h3>
<p class="muted">${t.textWords(models)}</p></div>
<div class="stack">${exampleChat(locale)}
${folded(codeBlock({ id: 'job-text', title: t.sdk, text: textRequest(baseUrl), language: 'js' }, locale), locale)}</div></article>
</section>`;
}

/** A fold on a phone; where there is room, the styles open it. */
function folded(code: Html, { texts: { home: t } }: Locale): Html {
  return html`<details class="job-code"><summary>${t.showCode}</summary><div class="stack">${code}</div></details>`;
}

const LINK_ANSWER = `{
  "ok": true,
  "data": {
    "common": { "title": "A morning on the Ostend tugs", … },
    "metrics": { "views": 1204377, "likes": 48213, … },
    "media": { "download_links": { "mp3": "https://…" }, … }
  }
}`;

function linkRequest(baseUrl: string): string {
  return `curl ${baseUrl}/v1/extract \\
  -H "Authorization: Bearer $MEDIAGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"url":"${EXAMPLE_LINK}"}'`;
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
  input: 'Which of these harbours are the deepest?',
});`;
}
