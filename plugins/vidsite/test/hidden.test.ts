/** Hidden counters of the video site. */

import { expect } from 'chai';
import { mergePosts } from 'mediagate/plugin';
import { alignParts } from '../assemble.js';
import { parsePlayer } from '../read/player.js';
import { parseVideo } from '../read/public-apis.js';

const ID = 'H1ddenLike5';

describe('vidsite: hidden counters', () => {
  it('have no value in a player reply, and are marked as hidden', () => {
    const player = {
      videoDetails: { videoId: ID, title: 'A title', viewCount: '48213', allowRatings: false },
      microformat: { playerMicroformatRenderer: { externalVideoId: ID, likeCount: '0' } },
    };
    const { post } = parsePlayer(player, ID);
    expect(post.metrics).to.include({ likes: undefined, views: 48_213 });
    expect(post.precision).to.deep.equal({ likes: 'hidden' });
  });

  it('have no value in a reply of the official API, and are marked as hidden', () => {
    const video = { id: ID, snippet: { title: 'A title' }, statistics: { viewCount: '50123', commentCount: '0' } };
    const post = parseVideo(video, undefined, ID);
    expect(post.metrics).to.include({ views: 50_123, likes: undefined, comments: 0 });
    expect(post.precision).to.deep.equal({ likes: 'hidden' });
    expect(parseVideo({ id: ID, snippet: { title: 'A title' } }, undefined, ID).precision).to.deep.equal({});
  });

  it('are not replaced by the 0 of another reply', () => {
    const zero = { method: 'innertube_next', found: { metrics: { likes: 0, comments: 0 } } };
    const hidden = { method: 'innertube_player', found: { precision: { likes: 'hidden' } } } as const;
    for (const parts of [
      [zero, hidden],
      [hidden, zero],
    ]) {
      const { metrics, provenance } = mergePosts(alignParts(parts));
      expect(metrics).to.deep.equal({ comments: 0 });
      expect(provenance?.precision).to.include({ likes: 'hidden', comments: 'exact' });
    }
    const counted = { method: 'innertube_next', found: { metrics: { likes: 9 } } };
    expect(mergePosts(alignParts([hidden, counted])).metrics).to.deep.equal({ likes: 9 });
  });
});
