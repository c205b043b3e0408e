/*
 * Texts of the page on which a user connects an agent, and of the list of connected agents.
 */

import { type Html, html } from '../../html.js';

const en = {
  title: 'Connect an agent',
  askTitle: (agent: Html) => html`Connect ${agent}?`,
  ask: (agent: Html, account: Html) =>
    html`A program that calls itself ${agent} asks to use this gateway for ${account}.`,
  publisher: 'Published by',
  unknownPublisher: 'Not known: it chose its name itself',
  destination: 'Access goes to',
  local: (host: Html) => html`A program on this computer (${host})`,
  app: (scheme: Html) => html`The app on this device that opens ${scheme} links`,
  may: 'It may',
  rights: {
    extract: 'Read data and media links of public links',
    images: 'Make and edit images',
    text: 'Ask text models, also about links',
    audio: 'Transcribe, translate and speak',
  },
  withheld: (rights: string) => `It also asked for this, which your plan does not include: ${rights}.`,
  nothing: 'Your plan includes nothing of what it asks for, so it cannot be connected.',
  limits:
    'Untick what it does not need: to change it later, connect it again. Calls count in your limits and costs. It cannot see or make keys, or order plans.',
  ends: 'Access ends',
  endsWhen: 'After 90 days, or when you disconnect it',
  warningLocal: 'Allow this only if you have just started it yourself: any program on this computer can use this name.',
  warning: 'Allow this only if you have just asked for it there. Nobody else has a reason to send you here.',
  allow: 'Allow',
  deny: 'Deny',
  allowed: 'Agent connected',
  denied: 'Request denied',
  goesOn: 'You are being taken back to the program.',
  goOn: 'Continue',
  connected: 'Connected agents',
  connectedWords: 'Programs that use this gateway for you. Their calls count in the limits and costs of your account.',
  since: (day: Html) => html`Connected ${day}`,
  until: (day: Html) => html`until ${day}`,
  lastUsed: (day: Html) => html`used ${day}`,
  unused: 'not used yet',
  disconnect: 'Disconnect',
  disconnectWords: 'Disconnecting cancels its running jobs.',
};

const vi: typeof en = {
  title: 'Kết nối tác nhân',
  askTitle: (agent) => html`Kết nối ${agent}?`,
  ask: (agent, account) => html`Chương trình tự xưng là ${agent} xin dùng dịch vụ này thay cho ${account}.`,
  publisher: 'Phát hành bởi',
  unknownPublisher: 'Không rõ: tên do chương trình tự chọn',
  destination: 'Nơi nhận quyền',
  local: (host) => html`Một chương trình trên máy này (${host})`,
  app: (scheme) => html`Ứng dụng trên thiết bị này mở liên kết ${scheme}`,
  may: 'Chương trình được phép',
  rights: {
    extract: 'Đọc dữ liệu và liên kết tệp của các liên kết công khai',
    images: 'Tạo và sửa ảnh',
    text: 'Hỏi các mô hình văn bản, kể cả về liên kết',
    audio: 'Chép lời, dịch và đọc văn bản',
  },
  withheld: (rights) => `Chương trình còn xin quyền sau, nhưng gói của bạn không có: ${rights}.`,
  nothing: 'Gói của bạn không có quyền nào mà chương trình xin, nên không thể kết nối.',
  limits:
    'Bỏ chọn những gì không cần: muốn đổi sau này, hãy kết nối lại. Mỗi lần gọi tính vào giới hạn và chi phí của bạn. Chương trình không xem, tạo được khóa hay đặt mua gói.',
  ends: 'Hết hạn',
  endsWhen: 'Sau 90 ngày, hoặc khi bạn ngắt kết nối',
  warningLocal: 'Chỉ cho phép nếu chính bạn vừa khởi chạy: chương trình nào trên máy này cũng có thể dùng tên đó.',
  warning: 'Chỉ cho phép nếu bạn vừa yêu cầu việc này ở đó. Không ai khác có lý do gửi bạn đến đây.',
  allow: 'Cho phép',
  deny: 'Từ chối',
  allowed: 'Đã kết nối tác nhân',
  denied: 'Đã từ chối',
  goesOn: 'Bạn đang được đưa về chương trình.',
  goOn: 'Tiếp tục',
  connected: 'Tác nhân đã kết nối',
  connectedWords:
    'Các chương trình dùng dịch vụ này thay cho bạn. Mỗi lần gọi được tính vào giới hạn và chi phí của tài khoản.',
  since: (day) => html`Kết nối ${day}`,
  until: (day) => html`đến ${day}`,
  lastUsed: (day) => html`dùng ${day}`,
  unused: 'chưa dùng',
  disconnect: 'Ngắt kết nối',
  disconnectWords: 'Khi ngắt kết nối, các tác vụ đang chạy bị hủy.',
};

export const agents = { en, vi };
