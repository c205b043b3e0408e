/** Why a video cannot be played, by structure and in every language. */

import { expect } from 'chai';
import { siteConfigOf } from '../fetch.js';
import { type PlayState, readPlayState } from '../read/outcomes.js';

const siteConfig = siteConfigOf();
const read = (playabilityStatus: object, more: object = {}): PlayState =>
  readPlayState({ playabilityStatus, ...more }, { siteConfig, region: 'US' });
const codeOf = (state: PlayState) => ('code' in state ? state.code : state.kind);

describe('vidsite: reasons for an unplayable item', () => {
  const reasons: readonly (readonly [status: string, reason: string, code: string])[] = [
    ['OK', '', 'playable'],
    ['LOGIN_REQUIRED', 'Sign in to confirm you’re not a bot', 'bot_check'],
    ['LOGIN_REQUIRED', 'Melde dich an, um zu bestätigen, dass du kein Bot bist', 'bot_check'],
    ['LOGIN_REQUIRED', 'This is a private video. Please sign in to verify that you may see it.', 'private'],
    ['LOGIN_REQUIRED', 'Dieses Video ist privat', 'private'],
    ['LOGIN_REQUIRED', 'Cette vidéo est privée', 'private'],
    ['LOGIN_REQUIRED', 'Este vídeo é privado', 'private'],
    ['LOGIN_REQUIRED', 'この動画は非公開です', 'private'],
    ['LOGIN_REQUIRED', 'Sign in to confirm your age', 'age_restricted'],
    ['LOGIN_REQUIRED', 'Inicia sesión para confirmar tu edad', 'age_restricted'],
    ['AGE_VERIFICATION_REQUIRED', '', 'age_restricted'],
    ['LOGIN_REQUIRED', 'Please sign in', 'login_required'],
    ['UNPLAYABLE', 'The uploader has not made this video available in your country', 'geo_blocked'],
    ['UNPLAYABLE', 'Dieses Video ist in deinem Land nicht verfügbar', 'geo_blocked'],
    ['UNPLAYABLE', 'This video is available to this channel’s members on level: Gold', 'members_only'],
    ['UNPLAYABLE', 'This video is only available to Music Premium members', 'paid'],
    ['UNPLAYABLE', 'This video requires payment to watch', 'paid'],
    ['UNPLAYABLE', 'This content isn’t available, try again later.', 'upstream_rate_limited'],
    ['UNPLAYABLE', 'This video is not available', 'unavailable'],
    ['ERROR', 'Video unavailable', 'removed'],
    ['ERROR', 'This video has been removed for violating our community guidelines', 'removed'],
    ['ERROR', 'Este vídeo foi removido por violar as diretrizes da comunidade', 'removed'],
    ['ERROR', 'We’re processing this video. Check back later.', 'under_review'],
  ];
  for (const [status, reason, code] of reasons) {
    it(`${status} "${reason}" is ${code}`, () => {
      expect(codeOf(read({ status, ...(reason && { reason }) }))).to.equal(code);
    });
  }

  it('use the structure if the language of the text is unknown', () => {
    const help = (url: string) => ({
      playerErrorMessageRenderer: {
        subreason: { runs: [{ text: '…', navigationEndpoint: { urlEndpoint: { url } } }] },
      },
    });
    const status = 'LOGIN_REQUIRED';
    const reason = '…';
    expect(
      codeOf(read({ status, reason, errorScreen: help('https://support.google.com/youtube/answer/3037019') })),
    ).to.equal('bot_check');
    expect(codeOf(read({ status, reason, errorScreen: { playerCaptchaViewModel: {} } }))).to.equal('bot_check');
    expect(codeOf(read({ status, reason, desktopLegacyAgeGateReason: 1 }))).to.equal('age_restricted');
    expect(codeOf(read({ status, reason }, { videoDetails: { isPrivate: true } }))).to.equal('private');
    const offer = { playerLegacyDesktopYpcOfferRenderer: { offerId: 'sponsors_only_video' } };
    expect(codeOf(read({ status: 'UNPLAYABLE', reason, errorScreen: offer }))).to.equal('members_only');
    const microformat = { playerMicroformatRenderer: { availableCountries: ['FJ', 'NZ'] } };
    expect(codeOf(read({ status: 'UNPLAYABLE', reason }, { microformat }))).to.equal('geo_blocked');
  });

  it('distinguish announced from ended streams', () => {
    const slate = { liveStreamOfflineSlateRenderer: { scheduledStartTime: '1781784000' } };
    const liveStreamability = { liveStreamabilityRenderer: { offlineSlate: slate } };
    expect(read({ status: 'LIVE_STREAM_OFFLINE', liveStreamability })).to.include({ kind: 'offline', upcoming: true });
    expect(read({ status: 'LIVE_STREAM_OFFLINE' })).to.include({ kind: 'offline', upcoming: false });
  });

  it('returns the headline and the text below it as the reason', () => {
    const errorScreen = {
      playerErrorMessageRenderer: { reason: { simpleText: 'Private video' }, subreason: { simpleText: 'Sign in' } },
    };
    expect(read({ status: 'LOGIN_REQUIRED', errorScreen })).to.include({ reason: 'Private video – Sign in' });
  });
});

describe('vidsite: siteConfig option', () => {
  it('replaces the default field by field', () => {
    const own = siteConfigOf({ clients: { web: { version: '2.30000101' } }, phrases: { private: ['geheim'] } });
    expect(own.clients.web).to.deep.include({ name: 'WEB', version: '2.30000101' });
    expect(own.phrases.private).to.deep.equal(['geheim']);
    expect(own.phrases.age).to.deep.equal(siteConfig.phrases.age);
  });

  it('is refused if it is invalid', () => {
    expect(() => siteConfigOf({ clients: { webb: {} } })).to.throw(
      TypeError,
      'siteConfig.clients has no member "webb"',
    );
    expect(() => siteConfigOf({ clients: { web: { id: '1' } } })).to.throw(TypeError, 'siteConfig.clients.web.id');
    expect(() => siteConfigOf({ markers: { captcha: 'x' } })).to.throw(TypeError, 'list of strings');
  });
});
