/** The probe of platforms, on local servers. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { videoOf } from '../../http/links/media-origin.js';
import { answersFromFixtures } from '../../support/links/fixture-answers.js';
import {
  type AnswerRequest,
  type ProxyAnswer,
  type ProxyRequest,
  type ReplayingProxy,
  startReplayingProxy,
} from '../../support/links/replaying-proxy.js';
import { packageRoot } from '../../support/package-root.js';
import { type CommandResult, runCommand } from '../../support/processes/command-line.js';
import { startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

interface Printed {
  at: string;
  stored: boolean;
  methods: Trial[];
  media: MediaTrial[];
}

interface MediaTrial {
  platform: string;
  url: string;
  document: string;
  method: string | null;
  file: string | null;
  level: string;
  status: string;
  reason?: string;
}

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
    const { methods: trials, media }: Printed = JSON.parse(stdout);
    for (const { platform, url, method, file, level, status } of media.filter(({ document }) => document === 'ok')) {
      const outcome = file === null ? 'no files' : 'ok';
      expect([method === null, level, status], `${platform} ${url} ${file}`).to.deep.equal([false, 'ok', outcome]);
    }
    const withFiles = media.flatMap(({ platform, file }) => (file === null ? [] : [platform]));
    expect(new Set(withFiles)).to.deep.equal(new Set(['vidsite', 'clip_video', 'social', 'photo', 'clip_shop']));
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
    const { methods: trials, media }: Printed = JSON.parse(stdout);
    expect(media[0]).to.include({ platform: 'photo', method: null, file: null, level: 'fail' });
    expect(code, 'no fixture has that post').to.equal(1);
    expect(new Set(trials.map(({ platform }) => platform))).to.deep.equal(new Set(['photo']));
    expect(trials.find(({ method }) => method === 'permalink')).to.include({ level: 'fail' });
    expect(trials.find(({ method }) => method === 'ruling')).to.include({ level: 'info' });
  });

  it('says of each file whether it can be fetched, and stores the results for health and metrics', async () => {
    const gateway = await startGatewayProcess({ dataFolder: folder, environment: { METRICS_PUBLIC: 'on' } });
    try {
      const checks = async () => (await gateway.request('/health')).json.checks;
      expect(await checks()).not.to.have.property('live_probe');
      const url = 'https://youtu.be/Tugs0fOst3n';
      const good = await linksFile('fills.json', [{ url, fills: { innertube_next: ['metrics.likes'] } }]);
      const fine = await run('--links', good);
      expect(fine.code, fine.stdout).to.equal(0);
      expect(fine.stderr).to.contain('The results are stored for /health and the metrics.');
      expect(fine.stdout)
        .to.match(/\n +PLATFORM +LINK +DOCUMENT +METHOD +FILE +STATUS +MS\n/)
        .and.to.match(/\nok +vidsite +youtu\.be\/Tugs0fOst3n +ok +innertube\S*… +video \d+p +ok +\d+\n/)
        .and.to.match(/All \d+ files can be fetched\./);

      proxy.setAnswer(answerFromSamples(() => ({ status: 403 })));
      const refused = await run('--links', good);
      expect(refused.code).to.equal(1);
      expect(refused.stdout)
        .to.match(
          /\nfail +vidsite +\S+ +ok +innertube\S* +video \d+p +media_unavailable +\d+ +The source refused .* 403\.\n/,
        )
        .and.to.match(/(\d+) of \1 files cannot be fetched\./);
      const [entry] = (await until(async () => (await checks()).live_probe)).entries;
      expect(entry).to.include({ key: 'vidsite', ok: false, passed: 1 });
      expect(Date.now() - Date.parse(entry.at)).to.be.within(0, 60_000);
      const { text } = await gateway.request('/metrics');
      expect(text)
        .to.contain(`mediagate_probe_checks{platform="vidsite",outcome="failed"} ${entry.failed}`)
        .and.to.contain('mediagate_probe_checks{platform="vidsite",outcome="passed"} 1')
        .and.to.match(/mediagate_probe_time_seconds\{platform="vidsite"\} 1\.?\d+/);
    } finally {
      proxy.setAnswer(answerFromSamples());
      await gateway.stop();
    }
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

const MEDIA_HOST =
  /(?:googlevideo|ytimg|tiktokcdn(?:-us)?|tiktokv|fbcdn|cdninstagram|ibyteimg|ttcdn-us)\.|-webapp-prime\./;
const FILE = videoOf(200_000);

/** Everything that the documents name is a file; playlists are asked for without a range. */
function sendFile({ headers }: ProxyRequest): ProxyAnswer {
  if (!headers.range) return { body: '#EXTM3U\n' };
  const [, first = '0', last = String(FILE.length - 1)] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
  const [start, end] = [Number(first), Math.min(Number(last), FILE.length - 1)];
  const body = FILE.subarray(start, end + 1);
  return { status: 206, headers: { 'content-range': `bytes ${start}-${end}/${FILE.length}` }, body };
}

/** The platforms' addresses are the same for every item, so a request that names one is answered from its sample. */
function answerFromSamples(media: (request: ProxyRequest) => ProxyAnswer = sendFile): AnswerRequest {
  const samples = SAMPLES.map(([platform, fixture, url]) => {
    const folder = path.join(packageRoot, 'plugins', platform, 'fixtures', fixture);
    return { folder, id: url.match(/[\w-]{11,}/g)?.at(-1) ?? '', answer: answersFromFixtures([folder]) };
  });
  const anyOf = answersFromFixtures(samples.map(({ folder }) => folder));
  return (request) => {
    if (MEDIA_HOST.test(request.url.hostname)) return media(request);
    const named = samples.find(({ id }) => request.url.href.includes(id) || request.body.includes(id));
    return (named?.answer ?? anyOf)(request);
  };
}
