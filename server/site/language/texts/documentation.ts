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
  isEnglish: 'Tài liệu này bằng tiếng Anh.',
  resultsOf: (query) => `${query}, tìm kiếm`,
  enterWords: 'Hãy nhập một hoặc nhiều từ.',
  nothing: 'Không tìm thấy gì. Hãy thử ít từ hơn hoặc từ khác.',
  results: (results) => `${count(results)} kết quả.`,
};

export const documentation = { en, vi };
