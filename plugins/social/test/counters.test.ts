/** Counters of the social network in every page layout. */

import { expect } from 'chai';
import { parseFeedback } from '../read/counters.js';
import siteConfig from '../site-config.json' with { type: 'json' };

const ufi = (feedback: object) => ({ comet_ufi_summary_and_actions_renderer: { feedback } });
const comments = (total_count: number) => ({ comment_rendering_instance: { comments: { total_count } } });

describe('social counters', () => {
  const layouts: [layout: string, faces: object[], metrics: object][] = [
    [
      'a post',
      [ufi({ ...comments(19), reaction_count: { count: 41 }, share_count: { count: 2 } })],
      { likes: 41, comments: 19, shares: 2 },
    ],
    [
      'a post whose counters are plain numbers',
      [ufi({ reaction_count: 41, comment_count: 19, share_count: 2 })],
      { likes: 41, comments: 19, shares: 2 },
    ],
    [
      'a post with counters in words only',
      [ufi({ i18n_reaction_count: '1.2K', i18n_comment_count: '87', i18n_share_count: '3' })],
      { likes: 1200, comments: 87, shares: 3 },
    ],
    [
      'a reel',
      [{ unified_reactors: { count: 41 }, total_comment_count: 19, share_count_reduced: '1.3K', play_count: 500 }],
      { likes: 41, comments: 19, shares: 1300, plays: 500, views: 500 },
    ],
    [
      'a video',
      [
        { likers: { count: 41 }, total_comment_count: 19, video_view_count: null },
        { video_view_count_renderer: { feedback: { video_view_count: 900, play_count_reduced: '1K' } } },
      ],
      { likes: 41, comments: 19, views: 900, plays: 1000 },
    ],
    ['a post of a group', [{ reactors: { count: 41 }, comments: { total_count: 19 } }], { likes: 41, comments: 19 }],
    ['a post without any reaction', [ufi({ ...comments(0), reaction_count: { count: 0 } })], { likes: 0, comments: 0 }],
  ];
  for (const [layout, faces, metrics] of layouts) {
    it(`are read from ${layout}`, () => {
      expect(parseFeedback(faces as Parameters<typeof parseFeedback>[0], siteConfig).metrics).to.deep.equal(metrics);
    });
  }

  it('are absent if the site hides them, and never 0', () => {
    for (const config of [
      { reaction_display_strategy: 'HIDE_COUNTS' },
      { is_reaction_count_hidden_by_producer: true },
    ]) {
      const hidden = { reaction_count: { count: 0 }, reaction_display_config: config };
      const { metrics, precision, raw_stats } = parseFeedback([ufi(hidden), comments(19)], siteConfig);
      expect(metrics).to.deep.equal({ comments: 19 });
      expect(precision).to.deep.equal({ likes: 'hidden', comments: 'exact' });
      expect(raw_stats).to.not.have.property('reaction_count.count');
    }
  });

  it('of views are hidden if there are reactions and no views', () => {
    const { metrics, precision } = parseFeedback(
      [{ likers: { count: 41 }, video_view_count: 0, play_count: 0 }],
      siteConfig,
    );
    expect(metrics).to.deep.equal({ likes: 41 });
    expect(precision).to.deep.equal({ likes: 'exact', views: 'hidden', plays: 'hidden' });
  });

  it('are not 0 if another place has a number', () => {
    const { metrics } = parseFeedback([{ reaction_count: { count: 0 }, i18n_reaction_count: '1.2K' }], siteConfig);
    expect(metrics).to.deep.equal({ likes: 1200 });
  });

  it('are read at the paths of the site configuration', () => {
    const renamed = [{ renamed: { total: 41 } }];
    expect(parseFeedback(renamed, siteConfig).metrics).to.deep.equal({});
    const counterPaths = { ...siteConfig.counterPaths, likes: ['reaction_count', 'renamed.total'] };
    const { metrics, raw_stats } = parseFeedback(renamed, { ...siteConfig, counterPaths });
    expect(metrics).to.deep.equal({ likes: 41 });
    expect(raw_stats).to.deep.equal({ 'renamed.total': 41 });
  });
});
