/*
 * Texts around the documentation: its search, its navigation on a phone, and the page of results. The guides and the API
 * reference themselves are in English alone.
 */

import { counted, FORMATS } from '../formats.js';

const { count } = FORMATS.vi;

const en = {
  title: 'Documentation',
  searchLabel: 'Search the documentation',
  search: 'Search',
  contents: 'Contents',
  /** Parts of the navigation by their names. */
  groups: {
    Start: 'Start',
    'API reference': 'API reference',
    Guides: 'Guides',
    Accounts: 'Accounts',
    Operate: 'Operate',
    Tables: 'Tables',
    Develop: 'Develop',
  },
  /** In other languages. */
  isEnglish: 'The documentation is in English.',
  resultsOf: (query: string) => `${query}, search`,
  enterWords: 'Enter one or more words.',
  nothing: 'Nothing was found. Try fewer or other words.',
  results: (results: number) => `${counted(results, 'result')}.`,
};

const vi: typeof en = {
  title: 'Tài liệu',
  searchLabel: 'Tìm trong tài liệu',
  search: 'Tìm kiếm',
  contents: 'Mục lục',
  groups: {
    Start: 'Bắt đầu',
    'API reference': 'Tra cứu API',
    Guides: 'Hướng dẫn',
    Accounts: 'Tài khoản',
    Operate: 'Vận hành',
    Tables: 'Bảng tra cứu',
    Develop: 'Phát triển',
  },
  isEnglish: 'Tài liệu này bằng tiếng Anh.',
  resultsOf: (query) => `${query}, tìm kiếm`,
  enterWords: 'Hãy nhập một hoặc nhiều từ.',
  nothing: 'Không tìm thấy gì. Hãy thử ít từ hơn hoặc từ khác.',
  results: (results) => `${count(results)} kết quả.`,
};

export const documentation = { en, vi };
