/*
 * Texts of the pages of errors, by the code of the error: what it is, why in plain words, and what to do next. Where a
 * code has no words of its own, the page shows what the code means. The message of an error is for programs and stays
 * English, so it is a detail of English pages, where it says more: which value, which limit.
 */

import { counted, FORMATS } from '../../formats.js';

const { count } = FORMATS.vi;

export interface FailureTexts {
  title: string;
  /** Why. Default: what the code means. */
  words?: string;
  /** What can be done. Default: the buttons say it. */
  next?: string;
}

/** Words of codes, and of an image, whose error has the code of every job. */
type Codes = Readonly<Record<string, FailureTexts>>;

const en = {
  signIn: 'Sign in',
  signInAgain: 'Sign in again',
  homePage: 'Home page',
  console: 'Console',
  images: 'Your images',
  orders: 'Your orders',
  keys: 'Your keys',
  plans: 'See the plans',
  detail: 'Detail',
  request: 'Request id',
  meant: (path: string) => `Did you mean ${path}?`,
  imagePeriod: (days: number) => `Images are kept for ${counted(days, 'day')}.`,
  places: {
    playground: 'Links, chats, audio and images, in the browser.',
    models: 'What each model does, and by which route.',
    setup: 'Editors, programs and libraries, ready to copy.',
    docs: 'Guides, and every route with examples.',
  },
  other: {
    title: 'This did not work',
    next: 'Go back and try again. If it happens again, tell the support the request id.',
  } as FailureTexts,
  codes: {
    route_not_found: {
      title: 'Page not found',
      words: 'The address is wrong, or the page no longer exists.',
      next: 'Check the address, search, or open one of these.',
    },
    image_not_found: {
      title: 'Image not found',
      words: 'This one was deleted, by you or after that time, or it belongs to another account.',
    },
    order_not_found: {
      title: 'Order not found',
      words: 'The code is wrong, or the order belongs to another account.',
      next: 'Your orders have the codes of all of them.',
    },
    job_not_found: {
      title: 'Not found',
      words: 'The address is wrong, or this was deleted after its time.',
      next: 'Go back to the list.',
    },
    file_not_found: {
      title: 'File not found',
      words: 'The address is wrong, or the file no longer exists.',
      next: 'Read the link again for a new file.',
    },
    file_expired: {
      title: 'File not found',
      words: 'It was deleted after its time.',
      next: 'Read the link again for a new file.',
    },
    link_expired: {
      title: 'This link has expired',
      words: 'Links to files work for a limited time.',
      next: 'Read the link again for a new one.',
    },
    key_not_found: {
      title: 'Key not found',
      words: 'The key was deleted, or belongs to another account.',
      next: 'Your keys are listed on their page.',
    },
    user_not_found: {
      title: 'User not found',
      words: 'The id is wrong, or the user was erased.',
      next: 'Search among the users.',
    },
    invitation_invalid: {
      title: 'This invitation no longer works',
      words: 'It was used, has expired or was withdrawn.',
      next: 'Ask for a new one, or sign in if you have an account.',
    },
    method_not_allowed: {
      title: 'This address is not a page',
      words: 'It takes a form of the site.',
      next: 'Open the page from the site again.',
    },
    invalid_value: {
      title: 'A value is not accepted',
      words: 'Something in the form or in the address has a value that does not fit.',
      next: 'Go back and change it.',
    },
    request_too_large: {
      title: 'This is too large',
      words: 'What was sent is larger than the page accepts.',
      next: 'Go back and send less.',
    },
    insufficient_quota: {
      title: 'Nothing is left of the allowance',
      words: 'What the plan, the key or the account may use is used up, or its time has ended.',
      next: 'Wait until it begins anew, or choose a larger plan.',
    },
    queue_full: {
      title: 'Too busy right now',
      words: 'As many requests wait as the service takes. Nothing is lost.',
      next: 'Try again in a moment.',
    },
    shutting_down: {
      title: 'The service restarts',
      words: 'It is back within a minute. Nothing is lost.',
      next: 'Try again in a moment.',
    },
    not_signed_in: {
      title: 'Sign in first',
      words: 'Your session has ended, or you signed out in another tab. Nothing was changed.',
      next: 'Sign in and try again.',
    },
    sign_in_failed: {
      title: 'You are not signed in',
      words:
        'The sign-in was cancelled, took too long, or was begun in another browser, or this browser blocks the cookies of the site.',
      next: 'Allow cookies and sign in again, in one browser from beginning to end.',
    },
    sign_in_unavailable: {
      title: 'Signing in is not possible right now',
      words: 'The service that confirms who you are does not answer.',
      next: 'Try again in a few minutes.',
    },
    account_suspended: {
      title: 'This account is suspended',
      words: 'The operator has stopped it; its keys do not work meanwhile.',
      next: 'Contact the support.',
    },
    cross_site_request: {
      title: 'This came from another site',
      words: 'Forms count only if they were sent from this site. Nothing was changed.',
      next: 'Go back to the page and try again.',
    },
    rate_limit_exceeded: {
      title: 'Too many requests',
      words: 'More came within a minute than are accepted.',
      next: 'Wait a minute and try again.',
    },
    too_many_open_orders: {
      title: 'Too many open orders',
      words: 'The account has as many unpaid orders as are allowed.',
      next: 'Pay or cancel one of them first.',
    },
    upstream_unavailable: {
      title: 'This is not possible right now',
      words: 'A part that the service needs does not answer. Nothing is lost.',
      next: 'Try again in a moment.',
    },
    internal_error: {
      title: 'Something broke on our side',
      words: 'It has been logged with the request id below.',
      next: 'Try again in a moment. If it happens again, tell the support the request id.',
    },
  } as Codes,
};

const vi: typeof en = {
  signIn: 'Đăng nhập',
  signInAgain: 'Đăng nhập lại',
  homePage: 'Trang chủ',
  console: 'Quản trị',
  images: 'Ảnh của bạn',
  orders: 'Đơn hàng của bạn',
  keys: 'Khóa của bạn',
  plans: 'Xem các gói',
  detail: 'Chi tiết',
  request: 'Mã yêu cầu',
  meant: (path) => `Có phải bạn muốn mở ${path}?`,
  imagePeriod: (days) => `Ảnh được giữ ${count(days)} ngày.`,
  places: {
    playground: 'Liên kết, trò chuyện, âm thanh và ảnh, ngay trong trình duyệt.',
    models: 'Mỗi mô hình làm gì và dùng qua đường dẫn nào.',
    setup: 'Trình soạn mã, chương trình và thư viện, sẵn để sao chép.',
    docs: 'Hướng dẫn và mọi đường dẫn, kèm ví dụ.',
  },
  other: {
    title: 'Không thực hiện được',
    next: 'Hãy quay lại và thử lại. Nếu vẫn lỗi, hãy gửi mã yêu cầu cho bộ phận hỗ trợ.',
  },
  codes: {
    route_not_found: {
      title: 'Không tìm thấy trang',
      words: 'Địa chỉ sai hoặc trang không còn nữa.',
      next: 'Hãy kiểm tra địa chỉ, tìm kiếm hoặc mở một trang dưới đây.',
    },
    image_not_found: {
      title: 'Không tìm thấy ảnh',
      words: 'Ảnh này đã bị xóa, do bạn hoặc do hết thời hạn đó, hoặc thuộc tài khoản khác.',
    },
    order_not_found: {
      title: 'Không tìm thấy đơn hàng',
      words: 'Mã sai hoặc đơn hàng thuộc tài khoản khác.',
      next: 'Trang đơn hàng có mã của mọi đơn.',
    },
    job_not_found: {
      title: 'Không tìm thấy',
      words: 'Địa chỉ sai hoặc nội dung đã bị xóa sau thời hạn lưu.',
      next: 'Hãy quay lại danh sách.',
    },
    file_not_found: {
      title: 'Không tìm thấy tệp',
      words: 'Địa chỉ sai hoặc tệp không còn nữa.',
      next: 'Hãy đọc lại liên kết để có tệp mới.',
    },
    file_expired: {
      title: 'Không tìm thấy tệp',
      words: 'Tệp đã bị xóa sau thời hạn lưu.',
      next: 'Hãy đọc lại liên kết để có tệp mới.',
    },
    link_expired: {
      title: 'Liên kết đã hết hạn',
      words: 'Liên kết đến tệp chỉ dùng được trong một thời gian.',
      next: 'Hãy đọc lại liên kết gốc để có liên kết mới.',
    },
    key_not_found: {
      title: 'Không tìm thấy khóa',
      words: 'Khóa đã bị xóa hoặc thuộc tài khoản khác.',
      next: 'Trang khóa có mọi khóa của bạn.',
    },
    user_not_found: {
      title: 'Không tìm thấy người dùng',
      words: 'Mã sai hoặc người dùng đã bị xóa.',
      next: 'Hãy tìm trong danh sách người dùng.',
    },
    invitation_invalid: {
      title: 'Lời mời không còn dùng được',
      words: 'Lời mời đã dùng, đã hết hạn hoặc đã bị thu hồi.',
      next: 'Hãy xin lời mời mới, hoặc đăng nhập nếu đã có tài khoản.',
    },
    method_not_allowed: {
      title: 'Địa chỉ này không phải một trang',
      words: 'Địa chỉ này nhận biểu mẫu của trang web.',
      next: 'Hãy mở lại trang từ trang web.',
    },
    invalid_value: {
      title: 'Giá trị không được chấp nhận',
      words: 'Biểu mẫu hoặc địa chỉ có một giá trị không phù hợp.',
      next: 'Hãy quay lại và sửa giá trị đó.',
    },
    request_too_large: {
      title: 'Nội dung quá lớn',
      words: 'Nội dung gửi đi lớn hơn mức trang chấp nhận.',
      next: 'Hãy quay lại và gửi ít hơn.',
    },
    insufficient_quota: {
      title: 'Đã hết hạn mức',
      words: 'Hạn mức của gói, khóa hoặc tài khoản đã dùng hết hoặc đã kết thúc.',
      next: 'Hãy chờ kỳ mới hoặc chọn gói lớn hơn.',
    },
    queue_full: {
      title: 'Dịch vụ đang bận',
      words: 'Hàng đợi đã đầy. Không mất dữ liệu nào.',
      next: 'Hãy thử lại sau giây lát.',
    },
    shutting_down: {
      title: 'Dịch vụ đang khởi động lại',
      words: 'Dịch vụ sẽ trở lại trong một phút. Không mất dữ liệu nào.',
      next: 'Hãy thử lại sau giây lát.',
    },
    not_signed_in: {
      title: 'Hãy đăng nhập trước',
      words: 'Phiên đã kết thúc hoặc bạn đã đăng xuất ở thẻ khác. Chưa có gì thay đổi.',
      next: 'Hãy đăng nhập và thử lại.',
    },
    sign_in_failed: {
      title: 'Chưa đăng nhập được',
      words:
        'Lần đăng nhập đã bị hủy, quá lâu hoặc bắt đầu ở trình duyệt khác, hoặc trình duyệt này chặn cookie của trang web.',
      next: 'Hãy cho phép cookie và đăng nhập lại trong cùng một trình duyệt.',
    },
    sign_in_unavailable: {
      title: 'Hiện chưa thể đăng nhập',
      words: 'Dịch vụ xác nhận danh tính không trả lời.',
      next: 'Hãy thử lại sau ít phút.',
    },
    account_suspended: {
      title: 'Tài khoản bị tạm khóa',
      words: 'Người vận hành đã tạm khóa tài khoản; các khóa của tài khoản tạm ngừng hoạt động.',
      next: 'Hãy liên hệ bộ phận hỗ trợ.',
    },
    cross_site_request: {
      title: 'Yêu cầu đến từ trang khác',
      words: 'Chỉ nhận biểu mẫu gửi từ trang web này. Chưa có gì thay đổi.',
      next: 'Hãy quay lại trang trước và thử lại.',
    },
    rate_limit_exceeded: {
      title: 'Quá nhiều yêu cầu',
      words: 'Số yêu cầu trong một phút vượt quá mức cho phép.',
      next: 'Hãy chờ một phút rồi thử lại.',
    },
    too_many_open_orders: {
      title: 'Quá nhiều đơn chưa thanh toán',
      words: 'Tài khoản đã có số đơn hàng chưa thanh toán tối đa.',
      next: 'Hãy thanh toán hoặc hủy một đơn trước.',
    },
    upstream_unavailable: {
      title: 'Hiện chưa thực hiện được',
      words: 'Một phần mà dịch vụ cần không trả lời. Không mất dữ liệu nào.',
      next: 'Hãy thử lại sau giây lát.',
    },
    internal_error: {
      title: 'Có lỗi ở phía chúng tôi',
      words: 'Lỗi đã được ghi lại cùng mã yêu cầu bên dưới.',
      next: 'Hãy thử lại sau giây lát. Nếu vẫn lỗi, hãy gửi mã yêu cầu cho bộ phận hỗ trợ.',
    },
  },
};

export const failure = { en, vi };
