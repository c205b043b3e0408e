import { asRecord, asString, at, type Common, type JsonRecord, type MediaEntry } from 'mediagate';
import { expiryOf } from './media.js';
import { address, digits } from './values.js';

export interface MusicReading {
  music?: Common['music'];
  /** The piece as a file of its own, which posts of pictures play. */
  sound?: MediaEntry;
}

/** The piece of music, or the sound that others may use, in either form of a post's node. */
export function parseMusic(node: JsonRecord): MusicReading {
  const piece =
    at(node, 'clips_metadata', 'music_info', 'music_asset_info') ??
    at(node, 'music_metadata', 'music_info', 'music_asset_info') ??
    at(node, 'music_info', 'music_asset_info');
  const original =
    at(node, 'clips_metadata', 'original_sound_info') ?? at(node, 'music_metadata', 'original_sound_info');
  if (asRecord(piece)) {
    const music = {
      title: asString(at(piece, 'title')),
      artist: asString(at(piece, 'display_artist')),
      id: digits(at(piece, 'audio_cluster_id')) ?? digits(at(piece, 'id')),
    };
    return { music, sound: soundOf(piece, music.title) };
  }
  if (asRecord(original)) {
    const title = asString(at(original, 'original_audio_title'));
    const artist = asString(at(original, 'ig_artist', 'username'));
    return {
      music: { title, artist, id: digits(at(original, 'audio_asset_id')) },
      sound: soundOf(original, title),
    };
  }
  const attribution = node.clips_music_attribution_info;
  if (!asRecord(attribution)) return {};
  return {
    music: {
      title: asString(at(attribution, 'song_name')),
      artist: asString(at(attribution, 'artist_name')),
      id: digits(at(attribution, 'audio_id')),
    },
  };
}

function soundOf(asset: unknown, label: string | undefined): MediaEntry | undefined {
  const url =
    address(at(asset, 'progressive_download_url')) ?? address(at(asset, 'fast_start_progressive_download_url'));
  const milliseconds = at(asset, 'duration_in_ms');
  if (!url) return undefined;
  return {
    url,
    kind: 'audio',
    mime: 'audio/mp4',
    has_audio: true,
    has_video: false,
    label,
    duration_seconds: typeof milliseconds === 'number' && milliseconds > 0 ? milliseconds / 1000 : undefined,
    expires_at: expiryOf(url),
  };
}
