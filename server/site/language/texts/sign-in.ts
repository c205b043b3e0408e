/*
 * Texts of the sign-in page and of the pages where a user lets a program in.
 */

import { type Html, html } from '../../html.js';

const en = {
  title: 'Sign in',
  /** Where the operator's provider has no name. */
  unnamedProvider: 'your identity provider',
  developmentProviderAt: 'the development identity provider',
  developmentProvider: 'the development provider',
  where: (provider: Html) =>
    html`You sign in at ${provider} and come back here. Your account is created the first time.`,
  continueWith: (provider: string) => `Continue with ${provider}`,
  acceptBoth: (terms: Html, privacy: Html) => html`By signing in you accept the ${terms} and the ${privacy}.`,
  acceptOne: (document: Html) => html`By signing in you accept the ${document}.`,
  terms: 'terms of service',
  privacy: 'privacy policy',
  impossible: 'Nobody can sign in at the moment.',
  first: html`<strong>You are the first.</strong> Your account operates this gateway, with every grant and no limits.`,
  development: html`<strong>For development.</strong> Anyone on this machine can sign in as anyone, until <code>OIDC_ISSUER</code> is set.`,
  whatWeGet: 'What we get',
  whatWeGetWords: 'Your id there, with your name and email address.',
  neverAsked: 'What we never ask for',
  neverAskedWords: 'Your password. You enter it only at the identity provider.',
  stored: 'What is kept here',
  storedWords:
    'One cookie while you are signed in, which ends after 12 hours without a visit, and after 7 days in any case. Another one if you choose a language.',
  dashboard: 'Dashboard',
  device: {
    title: 'Connect a program',
    words:
      'The code is in the terminal or window in which you started the program. You then see what the program asks for.',
    wrong:
      'Code not found. Compare it with the one that the program shows, or start again there. Codes work once and expire after 10 minutes.',
    code: 'Code',
    continue: 'Continue',
    askTitle: 'Connect this program?',
    ask: (program: Html, account: Html) => html`A program that calls itself ${program} asks to act for ${account}.`,
    mustShow: 'It must show this code:',
    may: 'It may:',
    rights: [
      'See the account',
      'Create and revoke API keys: their calls use your plan',
      'Order plans: you still pay each order yourself',
    ],
    cannot: 'It cannot pay, change how you sign in, or delete the account.',
    holds: 'This ends after 12 hours.',
    warning: 'Allow this only if you have just started it yourself. Nobody else has a reason to send you here.',
    allow: 'Allow',
    deny: 'Deny',
    allowed: 'Program connected',
    allowedWords: 'The program continues by itself. You can close this page.',
    denied: 'Request denied',
    deniedWords: 'The program was not connected. You can close this page.',
  },
};

const vi: typeof en = {
  title: 'Đăng nhập',
  unnamedProvider: 'nhà cung cấp danh tính của bạn',
  developmentProviderAt: 'nhà cung cấp danh tính thử nghiệm',
  developmentProvider: 'nhà cung cấp thử nghiệm',
  where: (provider) => html`Bạn đăng nhập tại ${provider} rồi quay lại đây. Tài khoản được tạo ở lần đầu tiên.`,
  continueWith: (provider) => `Tiếp tục với ${provider}`,
  acceptBoth: (terms, privacy) => html`Khi đăng nhập, bạn đồng ý với ${terms} và ${privacy}.`,
  acceptOne: (document) => html`Khi đăng nhập, bạn đồng ý với ${document}.`,
  terms: 'điều khoản dịch vụ',
  privacy: 'chính sách quyền riêng tư',
  impossible: 'Hiện chưa thể đăng nhập.',
  first: html`<strong>Bạn là người đầu tiên.</strong> Tài khoản của bạn vận hành cổng này, có mọi quyền và không giới hạn.`,
  development: html`<strong>Chỉ để phát triển.</strong> Ai dùng máy này cũng đăng nhập được dưới tên bất kỳ, cho đến khi đặt <code>OIDC_ISSUER</code>.`,
  whatWeGet: 'Chúng tôi nhận',
  whatWeGetWords: 'Mã định danh của bạn ở đó, kèm tên và email.',
  neverAsked: 'Chúng tôi không bao giờ hỏi',
  neverAskedWords: 'Mật khẩu của bạn. Bạn chỉ nhập mật khẩu tại nhà cung cấp danh tính.',
  stored: 'Được lưu tại đây',
  storedWords:
    'Một cookie trong khi bạn đăng nhập, hết hạn sau 12 giờ không truy cập và chậm nhất sau 7 ngày. Thêm một cookie nếu bạn chọn ngôn ngữ.',
  dashboard: 'Tài khoản',
  device: {
    title: 'Kết nối chương trình',
    words:
      'Mã nằm trong terminal hoặc cửa sổ nơi bạn khởi chạy chương trình. Sau đó bạn sẽ thấy chương trình xin quyền gì.',
    wrong:
      'Không tìm thấy mã. Hãy so với mã mà chương trình hiển thị, hoặc bắt đầu lại ở đó. Mỗi mã dùng một lần và hết hạn sau 10 phút.',
    code: 'Mã',
    continue: 'Tiếp tục',
    askTitle: 'Kết nối chương trình này?',
    ask: (program, account) => html`Chương trình tự xưng là ${program} xin hành động thay cho ${account}.`,
    mustShow: 'Chương trình phải hiển thị mã này:',
    may: 'Chương trình được phép:',
    rights: [
      'Xem tài khoản',
      'Tạo và thu hồi khóa API: các lần gọi dùng gói của bạn',
      'Đặt mua gói: bạn vẫn tự thanh toán từng đơn',
    ],
    cannot: 'Chương trình không thể thanh toán, đổi cách bạn đăng nhập hay xóa tài khoản.',
    holds: 'Hết hạn sau 12 giờ.',
    warning: 'Chỉ cho phép nếu chính bạn vừa khởi chạy chương trình. Không ai khác có lý do gửi bạn đến đây.',
    allow: 'Cho phép',
    deny: 'Từ chối',
    allowed: 'Đã kết nối',
    allowedWords: 'Chương trình sẽ tự tiếp tục. Bạn có thể đóng trang này.',
    denied: 'Đã từ chối',
    deniedWords: 'Chương trình chưa được kết nối. Bạn có thể đóng trang này.',
  },
};

export const signIn = { en, vi };
