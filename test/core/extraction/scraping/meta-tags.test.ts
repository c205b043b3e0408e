/** Meta tags, microdata and HTML entities of a page. */

import { expect } from 'chai';
import fc from 'fast-check';
import { decodeEntities, metaTags } from '../../../../core/extraction/scraping/meta-tags.js';

const page = `<!doctype html><html><head>
  <!-- <meta property="og:title" content="commented out"> -->
  <title>The &lt;b&gt; element</title>
  <script>var decoy = '<meta property="og:title" content="from a script">';</script>
  <META content='Tom &amp; "Jerry"' property="og:title">
  <meta property="og:title" content="second">
  <meta name="description" content="a > b">
  <meta property="og:image" content="">
  <link href="https://t.example/watch?v=1&amp;x=2" rel="canonical">
  </head><body>
  <div itemscope itemtype="http://schema.org/VideoObject">
    <meta itemprop="name" content="Film">
    <link itemprop="url" href="https://t.example/1">
    <span itemprop="author" itemscope><link itemprop="url" href="https://t.example/@tom"><link itemprop="name" content="Tom"></span>
    <meta itemprop="interactionCount" content="42">
  </div></body></html>`;

describe('metaTags', () => {
  it('reads the first value of each property', () => {
    expect(Object.fromEntries(metaTags(page))).to.deep.equal({
      'og:title': 'Tom & "Jerry"',
      title: 'The <b> element',
      description: 'a > b',
      canonical: 'https://t.example/watch?v=1&x=2',
      name: 'Film',
      url: 'https://t.example/1',
      'author.url': 'https://t.example/@tom',
      'author.name': 'Tom',
      interactionCount: '42',
    });
  });

  it('assigns fields of a described item by their position', () => {
    const spans = `<span>a<span itemprop="author" itemscope><span>b</span><meta itemprop="name" content="Tom"></span></span>
      <meta itemprop="name" content="Film"><link rel="stylesheet" href="/a.css"><link property="og:url" href="/1">`;
    expect(Object.fromEntries(metaTags(spans))).to.deep.equal({ 'author.name': 'Tom', name: 'Film', 'og:url': '/1' });
  });

  it('ends a described item with its element', () => {
    for (const name of ['div', 'section', 'span', 'ul', 'article']) {
      const html = `<${name} id="watch" itemscope><${name} itemprop="author" itemscope><${name}><b>by</b></${name}>
        <${name} itemprop="note" content="x">n</${name}><meta itemprop="name" content="Tom"></${name}>
        <meta itemprop="datePublished" content="2026-05-04"><${name} itemprop="place" itemscope><img itemprop="image" src="/i.png">
        <link itemprop="url" href="/here"></${name}><meta content="Music" itemprop="genre"></${name}>`;
      expect(Object.fromEntries(metaTags(html)), name).to.deep.equal({
        'author.note': 'x',
        'author.name': 'Tom',
        datePublished: '2026-05-04',
        'place.image': '/i.png',
        'place.url': '/here',
        genre: 'Music',
      });
    }
  });

  it('ends inner items that are never closed with the outer one', () => {
    const html = `<div itemscope itemprop="outer"><p itemprop="inner" itemscope><meta itemprop="a" content="1"></div>
      <meta itemprop="b" content="2">`;
    expect(Object.fromEntries(metaTags(html))).to.deep.equal({ 'inner.a': '1', b: '2' });
  });

  it('lists counters by their action', () => {
    const counter = (action: string, count: number) => `<div itemprop="interactionStatistic" itemscope
      itemtype="https://schema.org/InteractionCounter"><meta itemprop="interactionType"
      content="https://schema.org/${action}"><meta itemprop="userInteractionCount" content="${count}"></div>`;
    const tags = metaTags(`<div itemscope>${counter('LikeAction', 31)}${counter('WatchAction', 4711)}
      <meta itemprop="datePublished" content="2026-05-04"></div>`);
    expect(tags.get('interactionStatistic.WatchAction')).to.equal('4711');
    expect(tags.get('interactionStatistic.LikeAction')).to.equal('31');
    expect(tags.get('datePublished')).to.equal('2026-05-04');
  });

  it('finds tags behind megabytes of script', () => {
    const late = `<head><script>${'x<y;'.repeat(500_000)}</script><meta name="late" content="yes"></head>`;
    expect(metaTags(late).get('late')).to.equal('yes');
  });

  it('is fast on pages that consist of beginnings', () => {
    const started = process.cpuUsage();
    for (const piece of [
      '<a',
      '<meta ',
      '<meta content="',
      '<!--',
      '<title>',
      '<script>',
      '<span>',
      "<a '>",
      '<',
      '<i itemprop=a>',
      '<div itemscope>',
      '<div itemscope></div><p>',
    ]) {
      metaTags(piece.repeat(1_000_000 / piece.length));
    }
    // Seconds, where a scan that begins anew at each of them would take hours.
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1_000).to.be.below(25_000);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.nat(page.length), fc.nat(page.length), fc.string(), (from, to, noise) => {
        metaTags(page.slice(0, from) + noise + page.slice(to));
      }),
    );
  });
});

describe('decodeEntities', () => {
  it('decodes once, and leaves markup alone', () => {
    expect(decodeEntities('a &amp;lt; <b>&eacute;&#39;&#x1F600;</b> & c')).to.equal("a &lt; <b>é'😀</b> & c");
    expect(decodeEntities('plain')).to.equal('plain');
    expect(decodeEntities('a&amp;b=&quot;1&quot;&lt;&#039;&#x27;')).to.equal('a&b="1"<\'\'');
    expect(decodeEntities('a&amp;b&copy=1&constructor;')).to.equal('a&b©=1&constructor;');
  });
});
