/** The probe of platforms, on local servers. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { answersFromFixtures } from '../../support/links/fixture-answers.js';
import { type AnswerRequest, type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { packageRoot } from '../../support/package-root.js';
import { type CommandResult, runCommand } from '../../support/processes/command-line.js';

interface Trial {
  platform: string;
  url: string;
  method: string;
  level: string;
  outcome: string;
  filled: string[];
  missing: string[];
  reason?: string;
}

/** For each method a sample of its plugin in which it answers: platform, fixture, link, methods. */
const SAMPLES: readonly (readonly [platform: string, fixture: string, url: string, ...methods: string[]])[] = [
  ['vidsite', 'data-api', 'https://www.youtube.com/watch?v=Dat4Api__19', 'data_api'],
  [
    'vidsite',
    'innertube-2026',
    'https://youtu.be/Tugs0fOst3n',
    'innertube_player',
    'innertube_microformat',
    'innertube_next',
  ],
  ['vidsite', 'watch-2025', 'https://www.youtube.com/watch?v=Grn-Br3ad25', 'watch_page'],
  ['vidsite', 'oembed-only', 'https://www.youtube.com/watch?v=0Embed_On14', 'oembed'],
  ['clip_video', 'desktop-2026', 'https://www.tiktok.com/@harbour.notes/video/7670000000000000001', 'page', 'embed'],
  ['clip_video', 'player-only', 'https://www.tiktok.com/@harbour.notes/video/7670000000000000010', 'player'],
  ['clip_video', 'oembed-only', 'https://www.tiktok.com/@harbour.notes/video/7670000000000000011', 'oembed'],
  ['social', 'post-2025', 'https://www.facebook.com/rosalind.okafor.1/posts/4410000000000731', 'page'],
  ['social', 'plugin-only', 'https://www.facebook.com/orchard.watch/posts/7770000000000203', 'plugin'],
  ['social', 'reel-2025', 'https://www.facebook.com/watch/?v=730000000000417', 'sibling_page'],
  ['photo', 'relay-2026', 'https://www.instagram.com/reel/DX6B-kzkPRH/', 'permalink'],
  ['photo', 'embed-data-2026', 'https://www.instagram.com/p/DWHeV9ziHoj/', 'embed'],
  ['photo', 'query-post-2026', 'https://www.instagram.com/p/DTh2OvTi94x/', 'graphql_post'],
  ['photo', 'query-shortcode-2023', 'https://www.instagram.com/p/Cw9ytOXjZA4/', 'graphql_shortcode'],
  ['clip_shop', 'model-2026', 'https://shop.tiktok.com/gb/pdp/1732400000000033333', 'www_page'],
];

describe('the probe', () => {
  let folder: string;
  let proxy: ReplayingProxy;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-probe-'));
    proxy = await startReplayingProxy({ answer: answerFromSamples() });
    const keyed = { id: 'vidsite', use: 'mediagate/plugins/vidsite', options: { apiKey: 'invented-api-key' } };
    const others = ['clip_video', 'social', 'photo', 'clip_shop'].map((key) => ({ use: `mediagate/plugins/${key}` }));
    await writeFile(path.join(folder, 'plugins.config.json'), JSON.stringify({ plugins: [keyed, ...others] }));
  });

  after(async () => {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  });

  function run(...args: string[]): Promise<CommandResult> {
    return runCommand(['probe', ...args], {
      DATA_DIR: folder,
      PLUGINS_CONFIG: path.join(folder, 'plugins.config.json'),
      BROWSER: 'off',
      EGRESS_PROXY_URL: proxy.url,
      NODE_EXTRA_CA_CERTS: proxy.caPath,
    });
  }

  async function linksFile(name: string, content: unknown): Promise<string> {
    const file = path.join(folder, name);
    await writeFile(file, JSON.stringify(content));
    return file;
  }

  it("runs each method alone, and compares its fields with the plugins' samples", async () => {
    const file = await linksFile(
      'samples.json',
      SAMPLES.map(([, , url]) => ({ url })),
    );
    const { code, stdout, stderr } = await run('--links', file, '--json');
    expect(code, `where nothing answers, it says so: ${stderr}`).to.equal(1);
    const trials: Trial[] = JSON.parse(stdout);
    for (const [platform, , url, ...methods] of SAMPLES) {
      for (const method of methods) {
        const trial = trials.find((one) => one.url === url && one.method === method);
        expect(trial, `${platform} ${method}`).to.deep.include({ platform, outcome: 'ok', missing: [] });
        expect(trial?.filled, `${platform} ${method}`).to.include.oneOf(['common.title', 'product.name']);
      }
    }
    const browser = trials.find(({ method }) => method === 'browser');
    expect(browser).to.include({ level: 'skip', outcome: 'not set up' });
    const shut = trials.find(({ url, method }) => url.endsWith('Grn-Br3ad25') && method === 'innertube_player');
    expect(shut).to.include({ level: 'fail', outcome: 'upstream_refused', reason: 'HTTP 404' });
  });

  it('prints a table, and exits with 0 if every expected method answers', async () => {
    const url = 'https://youtu.be/Tugs0fOst3n';
    const good = await linksFile('good.json', [{ url, fills: { innertube_next: ['metrics.likes'] } }]);
    const { code, stdout, stderr } = await run('--platform', 'vidsite', '--links', good);
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout)
      .to.contain(`vidsite       ${url}\n`)
      .and.to.match(/\n {6}PLATFORM +METHOD +OUTCOME +MS +FIELDS\n/)
      .and.to.match(/\nok +vidsite +innertube_next +ok +\d+ +\d+\n/)
      .and.to.match(/\ninfo +vidsite +watch_page +upstream_refused +\d+ +HTTP 404\n/)
      .and.to.contain('All methods that should answer do.');

    const thin = await linksFile('thin.json', [
      { url, fills: { innertube_next: ['metrics.likes', 'metrics.shares'] } },
    ]);
    const lacking = await run('--links', thin);
    expect(lacking.code).to.equal(1);
    expect(lacking.stdout)
      .to.match(/\nfail +vidsite +innertube_next +ok +\d+ +\d+ +missing metrics\.shares\n/)
      .and.to.contain('1 of 7 methods does not fill what it should.');
  });

  it("uses the plugins' own links by default", async () => {
    const { code, stdout } = await run('--platform', 'photo', '--json');
    const trials: Trial[] = JSON.parse(stdout);
    expect(code, 'no fixture has that post').to.equal(1);
    expect(new Set(trials.map(({ platform }) => platform))).to.deep.equal(new Set(['photo']));
    expect(trials.find(({ method }) => method === 'permalink')).to.include({ level: 'fail' });
    expect(trials.find(({ method }) => method === 'ruling')).to.include({ level: 'info' });
  });

  it('explains wrong options and exits with 2', async () => {
    const shapeless = await linksFile('shapeless.json', [{ link: 'https://youtu.be/Tugs0fOst3n' }]);
    const foreign = await linksFile('foreign.json', [{ url: 'https://example.com/' }]);
    const cases: [string[], string][] = [
      [['--platform', 'nowhere'], 'No platform "nowhere" is ready. Ready: vidsite, clip_video'],
      [['--links', path.join(folder, 'none.json')], 'none.json cannot be read'],
      [['--links', shapeless], 'shapeless.json is not a list of links'],
      [['--links', foreign], 'https://example.com/'],
      [
        ['--platform', 'photo', '--links', await linksFile('other.json', [{ url: 'https://youtu.be/Tugs0fOst3n' }])],
        'no link',
      ],
    ];
    for (const [args, said] of cases) {
      const { code, stdout, stderr } = await run(...args);
      expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
      expect(stderr).to.contain(said).and.not.to.contain('    at ');
    }
  });
});

/** The platforms' addresses are the same for every item, so a request that names one is answered from its sample. */
function answerFromSamples(): AnswerRequest {
  const samples = SAMPLES.map(([platform, fixture, url]) => {
    const folder = path.join(packageRoot, 'plugins', platform, 'fixtures', fixture);
    return { folder, id: url.match(/[\w-]{11,}/g)?.at(-1) ?? '', answer: answersFromFixtures([folder]) };
  });
  const anyOf = answersFromFixtures(samples.map(({ folder }) => folder));
  return (request) => {
    const named = samples.find(({ id }) => request.url.href.includes(id) || request.body.includes(id));
    return (named?.answer ?? anyOf)(request);
  };
}
