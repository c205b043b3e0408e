/*
 * Texts of the frame of every page, and of small pieces that many pages have.
 */

const en = {
  skip: 'Skip to content',
  firstPage: 'first page',
  site: 'Site',
  models: 'Models',
  plans: 'Plans',
  playground: 'Playground',
  setup: 'Setup',
  docs: 'Docs',
  signIn: 'Sign in',
  dashboard: 'Dashboard',
  console: 'Console',
  menu: 'Menu',
  signOut: 'Sign out',
  signedInAs: (label: string) => `Signed in as ${label}`,
  scriptsMissing:
    'The scripts of this page have not loaded yet. Its buttons need them. If this stays, allow scripts from this site, or reload the page.',
  selfHosted: 'mediagate is a gateway that you host yourself. Keys stay on servers, never in pages or apps.',
  keysStay: 'API keys stay on servers, never in pages or apps.',
  terms: 'Terms',
  privacy: 'Privacy',
  support: 'Support',
  documentation: 'Documentation',
  status: 'Status',
  copy: 'Copy',
};

const vi: typeof en = {
  skip: 'Đến nội dung chính',
  firstPage: 'trang chủ',
  site: 'Trang web',
  models: 'Mô hình',
  plans: 'Gói',
  playground: 'Dùng thử',
  setup: 'Cài đặt',
  docs: 'Tài liệu',
  signIn: 'Đăng nhập',
  dashboard: 'Tài khoản',
  console: 'Quản trị',
  menu: 'Menu',
  signOut: 'Đăng xuất',
  signedInAs: (label) => `Đã đăng nhập: ${label}`,
  scriptsMissing:
    'Script của trang chưa tải xong nên các nút chưa dùng được. Nếu vẫn vậy, hãy cho phép script của trang này hoặc tải lại trang.',
  selfHosted:
    'mediagate là cổng API chạy trên máy chủ của bạn. Khóa API chỉ nằm trên máy chủ, không bao giờ ở trang web hay ứng dụng.',
  keysStay: 'Khóa API chỉ nằm trên máy chủ, không bao giờ ở trang web hay ứng dụng.',
  terms: 'Điều khoản',
  privacy: 'Quyền riêng tư',
  support: 'Hỗ trợ',
  documentation: 'Tài liệu',
  status: 'Tình trạng',
  copy: 'Sao chép',
};

export const layout = { en, vi };
