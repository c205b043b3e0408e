/*
 * Texts around the documentation: its search, its navigation with the titles of all pages, its first page, and the page
 * of results. A title that has no Vietnamese words is shown in English, and marked as such. The guides themselves are in
 * English alone, which a line above them says; texts of the API reference have a catalogue of their own.
 */

import { type Html, html } from '../../html.js';
import { counted, FORMATS } from '../formats.js';
import { type GuideWords, VIETNAMESE_GUIDES } from './guide-titles.js';
import { VIETNAMESE_OPERATIONS } from './operation-titles.js';

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
  /** Titles of pages in the navigation; in English they are those of the pages. */
  pages: {} as Readonly<Record<string, string>>,
  /** Summaries of guides and titles of their parts, by file; in English they are those of the guide. */
  guides: {} as Readonly<Record<string, GuideWords>>,
  /** Titles of operations; in English they are those of the routes. */
  operations: {} as Readonly<Record<string, string>>,
  overview: {
    description: 'Guides, and every route of the gateway with what it takes and what it answers.',
    words: 'Guides for clients and operators, and the API reference with every route of the gateway.',
    errors: 'Error codes',
    first: 'First request',
    firstWords: html`Create a key on <a href="/keys">the page of keys</a> and keep it in <code>MEDIAGATE_API_KEY</code>. This request costs nothing and lists the models that the key may use.`,
    version: (version: Html) => html`Version ${version}.`,
    programs: html`Programs can read <a href="/openapi.json">openapi.json</a>, and agents <a href="/api/agent/manifest">the manifest</a>.`,
    rulesTitle: 'What all routes have in common',
    /** What every route keeps to. @param words In English, as the reference says it. */
    rules: (words: readonly Html[]) => html`${words}`,
    areas: { calls: 'Links, images and models', accounts: 'Accounts and agents', operators: 'For operators' },
    routes: (value: number) => counted(value, 'route'),
  },
  /** What groups of routes are for, by their names; in English as the reference says it. */
  subjects: {} as Readonly<Record<string, string>>,
  copyMarkdown: 'Copy as Markdown',
  copied: 'Copied',
  viewMarkdown: 'View as Markdown',
  edit: 'Edit this page',
  onThisPage: 'On this page',
  place: 'Place in the documentation',
  neighbours: 'Other pages',
  previous: 'Previous',
  next: 'Next',
  /** In other languages. */
  isEnglish: { all: 'This guide is in English.', declarations: 'Routes and fields are described in English.' },
  allInEnglish: 'Everything in English',
  resultsOf: (query: string) => `${query}, search`,
  enterWords: 'Enter one or more words.',
  nothing: 'Nothing was found. Try fewer or other words.',
  results: (results: number) => `${counted(results, 'result')}.`,
  bestResults: (results: number, all: number) => `The best ${results} of ${counted(all, 'result')}.`,
  moreResults: (results: number) => `${results} more on this page`,
  morePages: (pages: number) => counted(pages, 'more page'),
  parts: 'Parts of the documentation',
  all: 'All',
  /** In other languages. */
  resultsInEnglish: 'They are in English.',
  /** Of results whose titles have no other words. */
  onlyEnglish: 'In English',
};

/** By the titles of the pages. A title that is missing stays in English. */
const VIETNAMESE_TITLES: Readonly<Record<string, string>> = {
  'Quick start': 'Bắt đầu nhanh',
  Overview: 'Tổng quan',
  'Link data': 'Dữ liệu liên kết',
  'Batches of links': 'Nhiều liên kết một lần',
  'Files of links': 'Tệp của liên kết',
  Images: 'Ảnh',
  Webhooks: 'Webhook',
  'Chat and responses': 'Trò chuyện và câu trả lời',
  Messages: 'Tin nhắn',
  Audio: 'Âm thanh',
  'Models and embeddings': 'Mô hình và vectơ',
  'Account and keys': 'Tài khoản và khóa',
  'Sign-in for programs': 'Đăng nhập cho chương trình',
  Payments: 'Thanh toán',
  Agents: 'Tác nhân',
  Administration: 'Quản trị',
  'Money of customers': 'Tiền của khách hàng',
  'Administration of models': 'Quản trị mô hình',
  Operation: 'Vận hành',
  'Health and metrics': 'Tình trạng và số đo',
  Errors: 'Lỗi',
  Clients: 'Chương trình gọi API',
  'Background batches': 'Lô chạy nền',
  'Links in other formats': 'Liên kết ở định dạng khác',
  'Media files': 'Tệp media',
  Models: 'Mô hình',
  Plans: 'Gói',
  'Accounts: sign-in, keys and personal data': 'Tài khoản: đăng nhập, khóa và dữ liệu cá nhân',
  'Admin API': 'API quản trị',
  Alerts: 'Cảnh báo',
  Backups: 'Sao lưu',
  'Servers of chats': 'Máy chủ trò chuyện',
  'Connect models': 'Kết nối mô hình',
  Console: 'Bảng điều khiển',
  Costs: 'Chi phí',
  Deploy: 'Triển khai',
  'Fail-over': 'Chuyển đổi dự phòng',
  'Keys and budgets': 'Khóa và ngân sách',
  'Change models while the gateway runs': 'Đổi mô hình khi cổng đang chạy',
  Monitoring: 'Giám sát',
  'More nodes': 'Thêm máy',
  Security: 'Bảo mật',
  'Your own site': 'Trang web của riêng bạn',
  Troubleshooting: 'Xử lý sự cố',
  Upgrade: 'Nâng cấp',
  'The first week': 'Tuần đầu tiên',
  Workers: 'Tiến trình làm việc',
  Commands: 'Lệnh',
  'Document fields': 'Các trường của tài liệu',
  'Link forms': 'Các dạng liên kết',
  'Plans file': 'Tệp gói',
  'Plugin API': 'API của plugin',
  'Plugins and their options': 'Plugin và tùy chọn',
  'Prices file': 'Tệp giá',
  Routes: 'Các đường dẫn',
  Settings: 'Thiết lập',
  Architecture: 'Kiến trúc',
  Benchmarks: 'Đo hiệu năng',
  Capacity: 'Sức chứa',
  'Embed it': 'Nhúng vào chương trình',
  Faults: 'Sự cố',
  'Plugins for models': 'Plugin cho mô hình',
  'What platforms need beyond the tutorial': 'Điều các nền tảng cần thêm',
  'Testing a plugin': 'Kiểm thử plugin',
  'Writing a plugin': 'Viết plugin',
  'Pages of the site': 'Các trang của trang web',
  'Test it': 'Kiểm thử',
};

/** By the names of the groups in the reference. */
const VIETNAMESE_SUBJECTS: Readonly<Record<string, string>> = {
  links: 'Dữ liệu có cấu trúc từ liên kết công khai, mỗi lần một liên kết.',
  batches: 'Nhiều liên kết trong một yêu cầu, hoặc hàng nghìn liên kết chạy nền.',
  files: 'Âm thanh, video, phụ đề và hình. Địa chỉ nằm trong dữ liệu của liên kết, nên không cần khóa.',
  images: 'Ảnh trong một yêu cầu, hoặc bằng tác vụ nền không mất khi khởi động lại.',
  webhooks: 'Yêu cầu có chữ ký mà cổng gửi khi tác vụ kết thúc, và khóa bí mật để ký.',
  chat: 'Mô hình văn bản theo hai định dạng của SDK OpenAI.',
  messages: 'Mô hình văn bản theo định dạng của SDK Anthropic.',
  audio: 'Giọng nói, bản chép lời, hiệu ứng âm thanh và giọng đọc.',
  models: 'Các mô hình mà khóa được dùng, vectơ và kiểm duyệt.',
  account: 'Người dùng đang đăng nhập, khóa API và mức dùng. JSON theo camelCase.',
  'sign-in': 'Đăng nhập bằng thiết bị, phiên, và những gì cổng cung cấp cho trợ lý lập trình.',
  payments: 'Các gói trả bằng chuyển khoản.',
  agents: 'Công cụ cho tác nhân, theo Model Context Protocol.',
  admin:
    'Người vận hành xem và đổi gì về khách hàng: người dùng, lời mời, khóa, nhóm và ngân sách. Cần khóa có quyền `admin`; khóa khác nhận 404.',
  'admin-money':
    'Người vận hành xem và đổi gì về đơn hàng, chuyển khoản và số dư trả trước. Cần khóa có quyền `admin`; khóa khác nhận 404.',
  'admin-models': 'Người vận hành xem, thêm và đổi mô hình. Cần khóa có quyền `admin`; khóa khác nhận 404.',
  'admin-operation':
    'Người vận hành xem và đổi gì của cổng: mức dùng, yêu cầu, tác vụ, thiết lập, nhật ký và sự cố. Cần khóa có quyền `admin`; khóa khác nhận 404.',
  process: 'Tình trạng của cổng, cho giám sát và cân bằng tải.',
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
  pages: VIETNAMESE_TITLES,
  guides: VIETNAMESE_GUIDES,
  operations: VIETNAMESE_OPERATIONS,
  overview: {
    description: 'Hướng dẫn và mọi đường dẫn của cổng API: nhận gì, trả lời gì.',
    words: 'Hướng dẫn cho người gọi API và người vận hành, cùng phần tra cứu mọi đường dẫn của cổng.',
    errors: 'Các mã lỗi',
    first: 'Yêu cầu đầu tiên',
    firstWords: html`Tạo khóa ở <a href="/keys">trang khóa</a> và lưu trong <code>MEDIAGATE_API_KEY</code>. Yêu cầu này miễn phí và liệt kê các mô hình mà khóa được dùng.`,
    version: (version) => html`Phiên bản ${version}.`,
    areas: {
      calls: 'Liên kết, ảnh và mô hình',
      accounts: 'Tài khoản và tác nhân',
      operators: 'Dành cho người vận hành',
    },
    rulesTitle: 'Điểm chung của mọi đường dẫn',
    rules: () =>
      html`Mọi lỗi có mã cố định. <code>Retry-After</code> tính bằng giây nguyên. Câu trả lời có thể có thêm trường mới. Mọi câu trả lời có header <code>x-request-id</code>; câu trả lời của mô hình văn bản còn có <code>x-upstream-request-id</code> nếu nhà cung cấp đặt mã cho yêu cầu. Nếu người vận hành đã đặt giá, câu trả lời đầy đủ của mô hình và liên kết có chi phí trong <code>x-mediagate-cost</code>, chẳng hạn <code>0.012345 USD</code>. Yêu cầu có <code>Accept: application/problem+json</code> nhận lỗi ở dạng <code>Problem</code>.`,
    programs: html`Chương trình có thể đọc <a href="/openapi.json">openapi.json</a>, tác nhân có thể đọc <a href="/api/agent/manifest">bản kê khai</a>.`,
    routes: (value) => `${count(value)} đường dẫn`,
  },
  subjects: VIETNAMESE_SUBJECTS,
  copyMarkdown: 'Sao chép Markdown',
  copied: 'Đã sao chép',
  viewMarkdown: 'Xem Markdown',
  edit: 'Sửa trang này',
  onThisPage: 'Trên trang này',
  place: 'Vị trí trong tài liệu',
  neighbours: 'Các trang khác',
  previous: 'Trang trước',
  next: 'Trang sau',
  isEnglish: {
    all: 'Bài viết bằng tiếng Anh.',
    declarations: 'Phần mô tả bằng tiếng Anh.',
  },
  allInEnglish: 'Chuyển sang tiếng Anh',
  resultsOf: (query) => `${query}, tìm kiếm`,
  enterWords: 'Hãy nhập một hoặc nhiều từ.',
  nothing: 'Không tìm thấy gì. Hãy thử ít từ hơn hoặc từ khác.',
  results: (results) => `${count(results)} kết quả.`,
  bestResults: (results, all) => `${count(results)} kết quả tốt nhất trong ${count(all)} kết quả.`,
  moreResults: (results) => `${count(results)} kết quả khác trong trang này`,
  morePages: (pages) => `${count(pages)} trang khác`,
  parts: 'Các phần của tài liệu',
  all: 'Tất cả',
  resultsInEnglish: 'Nội dung bằng tiếng Anh.',
  onlyEnglish: 'Chỉ có tiếng Anh',
};

export const documentation = { en, vi };
