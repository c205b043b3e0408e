/*
 * Texts of orders and bank money in the console: filters, columns, why a transfer waits, and what each action will do.
 * An action on money names the amounts, so that a mistake is seen before it is made, and says whether it is final.
 */

const en = {
  orders: {
    title: 'Orders',
    lead: 'Orders of all accounts, newest first.',
    state: 'State',
    account: 'Account',
    user: 'User',
    received: 'Received',
    difference: 'Difference',
    expires: 'Expires',
    none: 'No orders',
    noneFound: 'No order matches these filters.',
    noneYet: 'Orders appear here when somebody orders a plan.',
    order: 'Order',
    orderTitle: (code: string) => `Order ${code}`,
    confirm: 'Confirm…',
    confirmWords: (amount: string, received: string) =>
      `Marks the order as paid, gives it a receipt over ${amount}, and starts its plan at once. Received so far: ${received}. Only a refund takes this back.`,
    confirmNow: 'Confirm the order',
    refund: 'Refund…',
    refundPaidWords: (received: string) =>
      `Records that ${received} was given back, and takes back what the order granted: its plan, its tokens and its days. The gateway moves no money: send it by your bank first. This is final.`,
    refundWords: (received: string) =>
      `Records that ${received} was given back. The order granted nothing. The gateway moves no money: send it by your bank first. This is final.`,
    refundNow: 'Record the refund',
    cancel: 'Cancel…',
    cancelWords: 'Cancels the order. Money that arrives later waits for a review.',
    cancelNow: 'Cancel the order',
    transfers: 'Bank transfers',
    noTransfers: 'No transfers',
    noTransfersWords: 'Transfers that name this order are listed here.',
  },
  transfers: {
    title: 'Bank money',
    lead: 'Transfers that the gateway could not count by itself wait here for you.',
    which: 'Transfers',
    toReview: 'To review',
    all: 'All',
    booked: 'Booked',
    text: 'Text',
    from: 'From',
    order: 'Order',
    review: 'Review',
    none: 'No transfers',
    noneToReview: 'Nothing needs a review.',
    noneYet: 'Transfers appear here when the bank reports them.',
    match: 'Match to an order…',
    matchWords:
      'Counts the transfer for this order, as if its text had named the code: exactly the amount pays it and starts its plan.',
    matchNow: 'Match the transfer',
    settle: 'Mark as reviewed…',
    settleWords:
      'Takes the transfer off this list, for money that you have sent back or settled otherwise. Nothing else changes.',
    settleNow: 'Mark as reviewed',
  },
  /** Why a transfer needs a review. */
  reviews: {
    unmatched: 'No order',
    wrong_currency: 'Wrong currency',
    overpaid: 'Too much',
    duplicate: 'Paid twice',
    cancelled: 'Order cancelled',
  },
};

const vi: typeof en = {
  orders: {
    title: 'Đơn hàng',
    lead: 'Đơn hàng của mọi tài khoản, mới nhất trước.',
    state: 'Trạng thái',
    account: 'Tài khoản',
    user: 'Người dùng',
    received: 'Đã nhận',
    difference: 'Chênh lệch',
    expires: 'Hết hạn',
    none: 'Không có đơn hàng',
    noneFound: 'Không có đơn hàng phù hợp.',
    noneYet: 'Đơn hàng hiện ở đây khi có người đặt gói.',
    order: 'Đơn hàng',
    orderTitle: (code) => `Đơn hàng ${code}`,
    confirm: 'Xác nhận…',
    confirmWords: (amount, received) =>
      `Đánh dấu đơn hàng đã thanh toán, tạo biên nhận ${amount} và bắt đầu gói ngay. Đã nhận: ${received}. Chỉ hoàn tiền mới đảo ngược được.`,
    confirmNow: 'Xác nhận đơn hàng',
    refund: 'Hoàn tiền…',
    refundPaidWords: (received) =>
      `Ghi nhận đã trả lại ${received} và thu hồi những gì đơn hàng đã cấp: gói, token và số ngày. Dịch vụ không chuyển tiền: hãy chuyển qua ngân hàng trước. Không thể đảo ngược.`,
    refundWords: (received) =>
      `Ghi nhận đã trả lại ${received}. Đơn hàng chưa cấp gì. Dịch vụ không chuyển tiền: hãy chuyển qua ngân hàng trước. Không thể đảo ngược.`,
    refundNow: 'Ghi nhận hoàn tiền',
    cancel: 'Hủy…',
    cancelWords: 'Hủy đơn hàng. Tiền đến sau sẽ chờ kiểm tra.',
    cancelNow: 'Hủy đơn hàng',
    transfers: 'Khoản chuyển',
    noTransfers: 'Chưa có khoản chuyển',
    noTransfersWords: 'Khoản chuyển ghi mã đơn này sẽ hiện ở đây.',
  },
  transfers: {
    title: 'Tiền chuyển khoản',
    lead: 'Những khoản mà dịch vụ không tự tính được đang chờ bạn ở đây.',
    which: 'Khoản chuyển',
    toReview: 'Cần kiểm tra',
    all: 'Tất cả',
    booked: 'Ngày ghi sổ',
    text: 'Nội dung',
    from: 'Từ',
    order: 'Đơn hàng',
    review: 'Kiểm tra',
    none: 'Không có khoản chuyển',
    noneToReview: 'Không có gì cần kiểm tra.',
    noneYet: 'Khoản chuyển hiện ở đây khi ngân hàng báo.',
    match: 'Gán cho đơn hàng…',
    matchWords:
      'Tính khoản chuyển cho đơn hàng này như thể nội dung có ghi mã: đúng số tiền thì đơn được thanh toán và gói bắt đầu.',
    matchNow: 'Gán khoản chuyển',
    settle: 'Đánh dấu đã kiểm tra…',
    settleWords:
      'Bỏ khoản chuyển khỏi danh sách này, khi bạn đã trả lại hoặc xử lý cách khác. Không có gì khác thay đổi.',
    settleNow: 'Đánh dấu đã kiểm tra',
  },
  reviews: {
    unmatched: 'Không có đơn',
    wrong_currency: 'Sai loại tiền',
    overpaid: 'Thừa tiền',
    duplicate: 'Trả hai lần',
    cancelled: 'Đơn đã hủy',
  },
};

export const consoleMoney = { en, vi };
