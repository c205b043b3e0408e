/*
 * Texts of the playground around its parts: the head, the tabs, and forms that the plan does not allow.
 */

const en = {
  title: 'Playground',
  words: 'Counts like your other requests. No API key is needed.',
  needsScripts: 'The playground needs scripts.',
  needsScriptsSetup: 'The setup page shows the same requests with curl',
  tabs: 'What to try',
  links: 'Links',
  images: 'Images',
  chat: 'Chat',
  audio: 'Audio',
  model: 'Model',
  mock: (model: string) => `${model} (mock)`,
  seePlans: 'See the plans',
  noModel: 'Your account has no model for this.',
  free: 'Free of charge',
};

const vi: typeof en = {
  title: 'Dùng thử',
  words: 'Tính như các yêu cầu khác. Không cần khóa API.',
  needsScripts: 'Trang thử nghiệm cần JavaScript.',
  needsScriptsSetup: 'Trang cài đặt có các yêu cầu tương tự bằng curl',
  tabs: 'Phần thử nghiệm',
  links: 'Liên kết',
  images: 'Ảnh',
  chat: 'Trò chuyện',
  audio: 'Âm thanh',
  model: 'Mô hình',
  mock: (model) => `${model} (mô phỏng)`,
  seePlans: 'Xem các gói',
  noModel: 'Tài khoản chưa có mô hình cho phần này.',
  free: 'Miễn phí',
};

export const playground = { en, vi };
