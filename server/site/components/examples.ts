/*
 * Examples of results, for visitors who have none of their own yet: the document of a link, a picture with its edit, and
 * an answer. They are marked as examples. Their pictures are drawn files of the site, so that nothing is requested from
 * elsewhere, and they need no scripts. The document is that of the recorded sample: who reads the link gets this one.
 */

import { assets } from '../assets.js';
import type { Locale } from '../language/index.js';
import { badge, Html, html } from '../page.js';

/** The link of the document. */
export const EXAMPLE_LINK = 'https://youtu.be/Tugs0fOst3n';

const CHAPTERS = [
  ['0:00', 'Before dawn'],
  ['1:35', 'First ship'],
  ['6:20', 'The narrow lock'],
] as const;
/** With their depth. */
const HARBOURS = [
  ['Rotterdam', '24 m'],
  ['Piraeus', '18 m'],
  ['Đà Nẵng', '17 m'],
] as const;
const PUBLISHED_AT = Date.UTC(2026, 3, 18);

/**
 * @param place `below`: the words stand below the poster, in a column. Default: beside it, where there is room.
 * @param act A button beside the link. Default: none.
 */
export function exampleDocument(
  { texts: { examples: t }, count, day }: Locale,
  place: 'beside' | 'below' = 'beside',
  act: Html | false = false,
): Html {
  const numbers = [
    [t.views, 1_204_377],
    [t.likes, 48_213],
    [t.comments, 2_100],
  ] as const;
  // On the home page it follows the title of the page.
  const level = new Html(place === 'below' ? 'h2' : 'h3');
  return html`<figure class="card example example-${place}">
<figcaption class="row row-apart"><code>${EXAMPLE_LINK}</code>${act}${badge(t.example)}</figcaption>
<div class="example-poster">${picture('harbour', t.dawn)}<svg viewBox="0 0 48 48" width="56" height="56" aria-hidden="true"><circle cx="24" cy="24" r="24"/><path d="M19 15v18l15-9z"/></svg><span class="figures">10:01</span></div>
<div class="example-words">
<${level} lang="en">A morning on the Ostend tugs</${level}>
<p class="small muted"><span lang="en">Harbour Notes</span> · ${day(PUBLISHED_AT)}</p>
<dl class="example-numbers">${numbers.map(([name, value]) => html`<div><dt>${name}</dt><dd>${count(value)}</dd></div>`)}</dl>
<p class="small"><span class="muted">${t.files}:</span> MP4, MP3, ${t.transcript}</p>
<ol class="example-chapters" aria-label="${t.chapters}" lang="en">${CHAPTERS.map(([time, name]) => html`<li><span class="figures muted">${time}</span> ${name}</li>`)}</ol>
</div></figure>`;
}

/** A picture, and what a second prompt made of it. */
export function exampleImages({ texts: { examples: t } }: Locale): Html {
  return html`<figure class="example-images"><div>${picture('harbour', t.dawn)}<p class="small">“${t.dawnPrompt}”</p></div><div>${picture('harbour-night', t.night)}<p class="small">“${t.nightPrompt}”</p></div>
<figcaption class="visually-hidden">${t.edited}</figcaption></figure>`;
}

/** One picture with its prompt. */
export function exampleImage({ texts: { examples: t } }: Locale): Html {
  return html`<figure class="card example example-below"><figcaption class="row row-apart"><span class="small">“${t.dawnPrompt}”</span>${badge(t.example)}</figcaption>
<div class="example-poster">${picture('harbour', t.dawn)}</div></figure>`;
}

/** A question and its answer. */
export function exampleChat({ texts: { examples: t } }: Locale): Html {
  return html`<figure class="example-chat"><figcaption class="visually-hidden">${t.example}</figcaption><p class="example-asked">${t.question}</p>
<table class="example-table"><thead><tr>${t.head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${HARBOURS.map(([name, depth], index) => html`<tr><td lang="en">${name}</td><td>${t.countries[index]}</td><td lang="en">${depth}</td></tr>`)}</tbody></table></figure>`;
}

function picture(name: 'harbour' | 'harbour-night', alt: string): Html {
  return html`<img src="${assets.url(`${name}.svg`)}" alt="${alt}" width="960" height="540">`;
}
