import { asRecord, at } from 'mediagate/plugin';
import { nodes, ofDetail, type PageNodes, stateOf, together } from '../page-nodes.js';

/** Pages of 2021 to 2023: items and accounts in tables of their own. */
export function readSigi(blob: unknown, id: string): PageNodes {
  const item = at(blob, 'ItemModule', id) ?? at(blob, 'MobileItemModule', id);
  const state = stateOf(at(blob, 'VideoPage')) ?? stateOf(at(blob, 'MobileSharingVideo'));
  return nodes({
    items: asRecord(item) ? [item] : [],
    users: at(blob, 'UserModule', 'users'),
    userStats: at(blob, 'UserModule', 'stats'),
    states: state ? [state] : [],
  });
}

/** Pages of 2019 to 2021. */
export function readNextData(blob: unknown): PageNodes {
  const props = at(blob, 'props', 'pageProps');
  return together([ofDetail(props), ofDetail(at(props, 'videoObjectPageProps'))]);
}
