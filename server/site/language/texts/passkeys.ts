/*
 * Texts of the sign-in with passkeys: on the sign-in page, the page of an invitation, that of a recovery code, and that of
 * the own passkeys. Times in them are already formatted. The texts at the end are those of the script, for what the
 * dialog of the browser refuses.
 */

import { type Html, html } from '../../html.js';

const en = {
  /* The sign-in page. */
  where: 'You sign in with a passkey: the fingerprint, face or PIN of your device. There is no password.',
  signIn: 'Sign in with a passkey',
  lost: 'Lost your device? Use a recovery code',
  invitedOnly: 'New here? Ask the operator for an invitation.',
  whatWeGetWords: 'The name that you enter, and the public half of your passkey.',
  neverAskedWords: 'A password. Fingerprint, face and PIN stay on your device.',
  elsewhere: (link: Html) => html`Passkeys work only at the address of the site. Open ${link}.`,
  /* The page of an invitation. */
  invitation: 'Your invitation',
  invitationWords: (site: Html) =>
    html`Create a passkey to sign in to ${site}. Your device asks for your fingerprint, face or PIN, and keeps the secret half to itself.`,
  invited: {
    operator: html`You become an <strong>operator</strong>: you run this gateway, with every grant and without the limits of a plan.`,
    billing: html`You get an account, and see to <strong>payments</strong>.`,
    member: 'You get an account with API keys of your own.',
    replaces: 'Your new passkey replaces all earlier passkeys and recovery codes of your account.',
  },
  name: 'Your name',
  create: 'Create a passkey',
  invalidAdvice: html`If you have used it already, <a href="/login">sign in</a>. Otherwise ask the operator for a new one.`,
  unavailable: 'Passkeys do not work at this address.',
  /* Recovery codes. */
  codesTitle: 'Your recovery codes',
  codesWords:
    'If you lose your passkeys, each of these signs you in once. They are shown only now. Store them where you find them without this device.',
  codes: 'the recovery codes',
  stored: 'I have stored them',
  recover: 'Use a recovery code',
  recoverWords: 'It signs you in once. Then add a new passkey.',
  code: 'Recovery code',
  recoverButton: 'Sign in',
  lostAll: 'No codes left either? Ask the operator for a new invitation.',
  recovered: 'You are signed in with a recovery code, which is used up now. Add a passkey of this device.',
  /* The page of the own passkeys. */
  title: 'Passkeys',
  words: 'With a passkey you sign in by fingerprint, face or PIN. Add one for each device that does not share them.',
  yours: 'Your passkeys',
  synced: 'Synced between your devices',
  device: 'On one device only',
  otherHost: (host: string) => `For ${host}, not for this address`,
  created: (day: Html) => html`Created ${day}`,
  unused: 'Not used yet',
  lastUsed: (day: Html) => html`Last used ${day}`,
  add: 'Add a passkey',
  added: 'The passkey is added.',
  saved: 'The name is saved.',
  removed: 'The passkey is removed. It no longer signs in.',
  none: 'No passkeys',
  noneWords: 'Your account signs in with an identity provider.',
  rename: 'Rename',
  newName: 'Name',
  save: 'Save',
  remove: 'Remove',
  confirm: (name: string) => `Remove ${name}? It no longer signs in. Sessions that run go on.`,
  codesLeft: (left: number) => (left === 1 ? '1 unused code is left.' : `${left} unused codes are left.`),
  renew: 'Make new codes',
  renewConfirm: 'Make new codes? The old ones stop working.',
  needsScripts: 'Passkeys need scripts.',
};

const vi: typeof en = {
  where: 'Bạn đăng nhập bằng passkey: vân tay, khuôn mặt hoặc mã PIN của thiết bị. Không có mật khẩu.',
  signIn: 'Đăng nhập bằng passkey',
  lost: 'Mất thiết bị? Dùng mã khôi phục',
  invitedOnly: 'Bạn mới đến? Hãy xin người vận hành một lời mời.',
  whatWeGetWords: 'Tên bạn nhập và phần công khai của passkey.',
  neverAskedWords: 'Mật khẩu. Vân tay, khuôn mặt và mã PIN ở lại trên thiết bị của bạn.',
  elsewhere: (link) => html`Passkey chỉ dùng được ở địa chỉ của trang. Hãy mở ${link}.`,
  invitation: 'Lời mời của bạn',
  invitationWords: (site) =>
    html`Hãy tạo passkey để đăng nhập vào ${site}. Thiết bị sẽ hỏi vân tay, khuôn mặt hoặc mã PIN và giữ riêng phần bí mật.`,
  invited: {
    operator: html`Bạn trở thành <strong>người vận hành</strong>: bạn quản lý cổng này, có mọi quyền và không bị giới hạn bởi gói.`,
    billing: html`Bạn có một tài khoản và phụ trách <strong>thanh toán</strong>.`,
    member: 'Bạn có một tài khoản với khóa API riêng.',
    replaces: 'Passkey mới thay thế mọi passkey và mã khôi phục trước đây của tài khoản.',
  },
  name: 'Tên của bạn',
  create: 'Tạo passkey',
  invalidAdvice: html`Nếu bạn đã dùng lời mời này, hãy <a href="/login">đăng nhập</a>. Nếu chưa, hãy xin người vận hành lời mời mới.`,
  unavailable: 'Passkey không dùng được ở địa chỉ này.',
  codesTitle: 'Mã khôi phục của bạn',
  codesWords:
    'Nếu mất passkey, mỗi mã giúp bạn đăng nhập một lần. Các mã chỉ hiện lúc này. Hãy cất ở nơi bạn tìm được khi không có thiết bị này.',
  codes: 'các mã khôi phục',
  stored: 'Tôi đã cất',
  recover: 'Dùng mã khôi phục',
  recoverWords: 'Mã giúp bạn đăng nhập một lần. Sau đó hãy thêm passkey mới.',
  code: 'Mã khôi phục',
  recoverButton: 'Đăng nhập',
  lostAll: 'Cũng hết mã? Hãy xin người vận hành lời mời mới.',
  recovered: 'Bạn đã đăng nhập bằng mã khôi phục, mã này không dùng lại được. Hãy thêm passkey của thiết bị này.',
  title: 'Passkey',
  words:
    'Passkey giúp bạn đăng nhập bằng vân tay, khuôn mặt hoặc mã PIN. Hãy thêm một khóa cho mỗi thiết bị không dùng chung khóa.',
  yours: 'Passkey của bạn',
  synced: 'Đồng bộ giữa các thiết bị',
  device: 'Chỉ trên một thiết bị',
  otherHost: (host) => `Dành cho ${host}, không phải địa chỉ này`,
  created: (day) => html`Tạo ngày ${day}`,
  unused: 'Chưa dùng',
  lastUsed: (day) => html`Dùng gần nhất ${day}`,
  add: 'Thêm passkey',
  added: 'Đã thêm passkey.',
  saved: 'Đã lưu tên.',
  removed: 'Đã xóa passkey. Không đăng nhập bằng khóa này được nữa.',
  none: 'Không có passkey',
  noneWords: 'Tài khoản của bạn đăng nhập qua nhà cung cấp danh tính.',
  rename: 'Đổi tên',
  newName: 'Tên',
  save: 'Lưu',
  remove: 'Xóa',
  confirm: (name) => `Xóa ${name}? Không đăng nhập bằng khóa này được nữa. Các phiên đang mở vẫn tiếp tục.`,
  codesLeft: (left) => `Còn ${left} mã chưa dùng.`,
  renew: 'Tạo mã mới',
  renewConfirm: 'Tạo mã mới? Các mã cũ ngừng hoạt động.',
  needsScripts: 'Passkey cần bật JavaScript.',
};

export const passkeys = { en, vi };

const enScript = {
  unsupported: 'This browser has no passkeys. Use a newer one.',
  known: 'This device has a passkey of your account already.',
  elsewhere: 'Passkeys of this site do not work at {host}.',
  cancelled: 'No passkey was chosen, or it took too long. Try again.',
};

const viScript: typeof enScript = {
  unsupported: 'Trình duyệt này không có passkey. Hãy dùng bản mới hơn.',
  known: 'Thiết bị này đã có passkey của tài khoản.',
  elsewhere: 'Passkey của trang này không dùng được ở {host}.',
  cancelled: 'Chưa chọn passkey, hoặc đã quá lâu. Hãy thử lại.',
};

export const passkeysScript = { en: enScript, vi: viScript };
