/*
 * Texts of the page of an order, and of its script.
 */

import { type Html, html } from '../../html.js';

const en = {
  /** Title of a background tab after the payment has arrived. */
  title: (state: string, code: string) => `${state}: order ${code}`,
  order: (code: Html, at: Html) => html`Order ${code} of ${at}`,
  qr: 'QR code of this transfer for a banking app',
  allOrders: 'All orders',
  scan: (amount: string) => `Scan it with your banking app. ${amount} and the reference are filled in.`,
  save: 'Save the QR code',
  amount: 'Amount',
  apps: 'Open in your banking app',
  appsWords: 'The links go to dl.vietqr.io, which opens the app with this transfer filled in.',
  toPay: 'To pay',
  partly: (paid: string, whole: string) => `${paid} of ${whole} has arrived. Send the rest with the same reference.`,
  bank: 'Bank',
  holder: 'Account holder',
  iban: 'IBAN',
  accountNumber: 'Account number',
  reference: 'Payment reference',
  referenceWords: 'Keep it as it is: it matches the money to your order.',
  waiting: 'Waiting for the transfer',
  expiresIn: (left: Html) => html`Expires in ${left}`,
  reload: 'Reload this page to see whether the money has arrived.',
  late: 'Most transfers arrive within minutes: you may close this page. Later ones still count.',
  cancelConfirm: 'If you have sent the money already, do not cancel: support would have to look for it.',
  cancelLabel: 'Cancel the order',
  cancel: 'Cancel this order',
  cancelNeedsScripts: 'Cancelling this order needs scripts, or the API.',
  unavailable: 'Payments are not available right now',
  unavailableWords: 'The service has no bank account configured. Your order stays open.',
  closed: {
    paid: { title: 'Payment received', words: 'All your keys can use the plan now.' },
    expired: {
      title: 'This order has expired',
      words:
        'No payment arrived in time. If you sent one, it still counts when the bank books it. Otherwise place a new order.',
    },
    cancelled: { title: 'This order was cancelled', words: 'Do not pay it. Place a new order instead.' },
    refunded: { title: 'This order was refunded', words: 'The money was returned to the account that it came from.' },
    needs_review: {
      title: 'This order is under review',
      words:
        'The money that arrived does not match the order exactly. No money is lost. Send support the code of the order.',
    },
  },
  toDashboard: 'Go to the dashboard',
  receipt: 'Receipt',
  seePlans: 'See the plans',
  dashboard: 'Dashboard',
};

const vi: typeof en = {
  title: (state, code) => `${state}: đơn hàng ${code}`,
  order: (code, at) => html`Đơn hàng ${code}, ${at}`,
  qr: 'Mã QR chuyển khoản cho ứng dụng ngân hàng',
  allOrders: 'Mọi đơn hàng',
  scan: (amount) => `Quét bằng ứng dụng ngân hàng. Số tiền ${amount} và nội dung đã được điền sẵn.`,
  save: 'Lưu mã QR',
  amount: 'Số tiền',
  apps: 'Mở bằng ứng dụng ngân hàng',
  appsWords: 'Liên kết đi qua dl.vietqr.io để mở ứng dụng với thông tin chuyển khoản điền sẵn.',
  toPay: 'Cần thanh toán',
  partly: (paid, whole) => `Đã nhận ${paid} trên ${whole}. Hãy chuyển phần còn lại với cùng nội dung.`,
  bank: 'Ngân hàng',
  holder: 'Chủ tài khoản',
  iban: 'IBAN',
  accountNumber: 'Số tài khoản',
  reference: 'Nội dung chuyển khoản',
  referenceWords: 'Đừng sửa: nội dung này khớp tiền với đơn hàng.',
  waiting: 'Đang chờ chuyển khoản',
  expiresIn: (left) => html`Hết hạn sau ${left}`,
  reload: 'Tải lại trang để xem tiền đã về chưa.',
  late: 'Hầu hết tiền về trong vài phút: bạn có thể đóng trang này. Tiền về muộn vẫn được tính.',
  cancelConfirm: 'Nếu đã chuyển tiền, đừng hủy: bộ phận hỗ trợ sẽ phải đi tìm khoản đó.',
  cancelLabel: 'Hủy đơn hàng',
  cancel: 'Hủy đơn hàng này',
  cancelNeedsScripts: 'Hủy đơn hàng cần bật script hoặc dùng API.',
  unavailable: 'Hiện chưa thể thanh toán',
  unavailableWords: 'Dịch vụ chưa thiết lập tài khoản ngân hàng. Đơn hàng vẫn mở.',
  closed: {
    paid: { title: 'Đã nhận thanh toán', words: 'Mọi khóa của bạn đã dùng được gói.' },
    expired: {
      title: 'Đơn hàng đã hết hạn',
      words:
        'Chưa nhận được tiền đúng hạn. Nếu bạn đã chuyển, khoản đó vẫn được tính khi ngân hàng ghi nhận. Nếu chưa, hãy đặt đơn mới.',
    },
    cancelled: { title: 'Đơn hàng đã hủy', words: 'Đừng thanh toán đơn này. Hãy đặt đơn mới.' },
    refunded: { title: 'Đơn hàng đã hoàn tiền', words: 'Tiền đã được trả về tài khoản đã chuyển.' },
    needs_review: {
      title: 'Đơn hàng đang được kiểm tra',
      words: 'Số tiền nhận được không khớp hẳn với đơn hàng. Tiền không bị mất. Hãy gửi mã đơn cho bộ phận hỗ trợ.',
    },
  },
  toDashboard: 'Đến trang tài khoản',
  receipt: 'Biên nhận',
  seePlans: 'Xem các gói',
  dashboard: 'Tài khoản',
};

export const payment = { en, vi };

export const paymentScript = {
  en: { noConnection: 'No connection. Retrying.' },
  vi: { noConnection: 'Mất kết nối. Đang thử lại.' },
};
