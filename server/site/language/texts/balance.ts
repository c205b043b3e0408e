/*
 * Texts of the prepaid balance on the page of orders.
 */

const en = {
  title: 'Balance',
  lead: 'The balance pays for requests that the plan does not include or cannot pay any more.',
  none: 'There is no balance yet. Top it up, and it pays for requests that the plan cannot pay.',
  reserved: (amount: string) => `Of it, ${amount} is reserved for running requests.`,
  onHold: 'The balance is on hold. Ask the operator.',
  topUp: 'Top up',
  statement: 'Statement of the balance',
  date: 'Date',
  kind: 'What',
  about: 'For',
  amount: 'Amount',
  left: 'Left',
  download: 'Download the whole statement (CSV)',
  empty: 'Nothing was moved yet',
  emptyWords: 'Top-ups and paid requests are listed here.',
  topUpLine: (name: string) => `Top-up ${name}`,
  kinds: {
    top_up: 'Top-up',
    usage: 'Usage',
    correction: 'Correction',
    refund: 'Refund',
    adjustment: 'By the operator',
  },
};

const vi: typeof en = {
  title: 'Số dư',
  lead: 'Số dư trả cho các yêu cầu mà gói không bao gồm hoặc không còn đủ.',
  none: 'Chưa có số dư. Hãy nạp tiền để trả cho các yêu cầu mà gói không trả được.',
  reserved: (amount) => `Trong đó ${amount} đang giữ cho các yêu cầu đang chạy.`,
  onHold: 'Số dư đang tạm khóa. Hãy liên hệ nhà vận hành.',
  topUp: 'Nạp',
  statement: 'Sao kê số dư',
  date: 'Ngày',
  kind: 'Loại',
  about: 'Cho',
  amount: 'Số tiền',
  left: 'Còn lại',
  download: 'Tải toàn bộ sao kê (CSV)',
  empty: 'Chưa có giao dịch',
  emptyWords: 'Các lần nạp và yêu cầu đã trả sẽ hiện ở đây.',
  topUpLine: (name) => `Nạp ${name}`,
  kinds: {
    top_up: 'Nạp tiền',
    usage: 'Sử dụng',
    correction: 'Điều chỉnh',
    refund: 'Hoàn tiền',
    adjustment: 'Điều chỉnh',
  },
};

export const balance = { en, vi };
