/*
 * Texts of the pages of errors, by the code of the error. Where a code has no words of its own, English pages show the
 * message of the error, and Vietnamese ones what the code means, since messages stay English.
 */

import { errors } from './errors.js';

export interface FailureTexts {
  title: string;
  /** Default: those of `wordsOf`. */
  words?: string;
}

const en = {
  signIn: 'Sign in',
  signInAgain: 'Sign in again',
  homePage: 'Home page',
  request: 'Request',
  other: { title: 'This did not work' } as FailureTexts,
  wordsOf: (_code: string, message: string) => message,
  codes: {
    route_not_found: { title: 'Page not found', words: 'The address is wrong, or the page no longer exists.' },
    order_not_found: { title: 'Order not found', words: 'The code is wrong, or the order belongs to another account.' },
    job_not_found: { title: 'Not found', words: 'The address is wrong, or this was deleted after its time.' },
    file_not_found: { title: 'File not found', words: 'The address is wrong, or the file no longer exists.' },
    key_not_found: { title: 'Key not found', words: 'The key was deleted, or belongs to another account.' },
    method_not_allowed: { title: 'This address is not a page', words: 'Open the page from the site again.' },
    invalid_value: { title: 'A value is not accepted' },
    request_too_large: { title: 'This is too large' },
    insufficient_quota: { title: 'Nothing is left of the allowance' },
    queue_full: { title: 'Too busy right now', words: 'Nothing is lost. Try again in a moment.' },
    shutting_down: { title: 'The service restarts', words: 'Nothing is lost. Try again in a moment.' },
    not_signed_in: {
      title: 'Sign in first',
      words: 'Your session has ended, or you signed out in another tab. Nothing was changed.',
    },
    sign_in_failed: { title: 'You are not signed in' },
    sign_in_unavailable: { title: 'Signing in is not possible right now' },
    account_suspended: { title: 'This account is suspended' },
    cross_site_request: {
      title: 'This came from another site',
      words: 'Nothing was changed. Go back to the page and try again.',
    },
    rate_limit_exceeded: { title: 'Too many requests' },
    upstream_unavailable: { title: 'This is not possible right now', words: 'Nothing is lost. Try again in a moment.' },
    internal_error: { title: 'Something broke on our side', words: 'It has been logged. Try again in a moment.' },
  } as Readonly<Record<string, FailureTexts>>,
};

const vi: typeof en = {
  signIn: 'Đăng nhập',
  signInAgain: 'Đăng nhập lại',
  homePage: 'Trang chủ',
  request: 'Yêu cầu',
  other: { title: 'Không thực hiện được' },
  wordsOf: (code) => errors.vi.meaningOf(code),
  codes: {
    route_not_found: { title: 'Không tìm thấy trang', words: 'Địa chỉ sai hoặc trang không còn nữa.' },
    order_not_found: { title: 'Không tìm thấy đơn hàng', words: 'Mã sai hoặc đơn hàng thuộc tài khoản khác.' },
    job_not_found: { title: 'Không tìm thấy', words: 'Địa chỉ sai hoặc nội dung đã bị xóa sau thời hạn lưu.' },
    file_not_found: { title: 'Không tìm thấy tệp', words: 'Địa chỉ sai hoặc tệp không còn nữa.' },
    key_not_found: { title: 'Không tìm thấy khóa', words: 'Khóa đã bị xóa hoặc thuộc tài khoản khác.' },
    method_not_allowed: { title: 'Địa chỉ này không phải một trang', words: 'Hãy mở lại trang từ trang web.' },
    invalid_value: { title: 'Giá trị không được chấp nhận' },
    request_too_large: { title: 'Nội dung quá lớn' },
    insufficient_quota: { title: 'Đã hết hạn mức' },
    queue_full: { title: 'Dịch vụ đang bận', words: 'Không mất dữ liệu nào. Hãy thử lại sau giây lát.' },
    shutting_down: { title: 'Dịch vụ đang khởi động lại', words: 'Không mất dữ liệu nào. Hãy thử lại sau giây lát.' },
    not_signed_in: {
      title: 'Hãy đăng nhập trước',
      words: 'Phiên đã kết thúc hoặc bạn đã đăng xuất ở thẻ khác. Chưa có gì thay đổi.',
    },
    sign_in_failed: { title: 'Chưa đăng nhập được', words: 'Nhà cung cấp danh tính chưa xác nhận. Hãy thử lại.' },
    sign_in_unavailable: { title: 'Hiện chưa thể đăng nhập', words: 'Hãy thử lại sau ít phút.' },
    account_suspended: { title: 'Tài khoản bị tạm khóa', words: 'Hãy liên hệ bộ phận hỗ trợ.' },
    cross_site_request: {
      title: 'Yêu cầu đến từ trang khác',
      words: 'Chưa có gì thay đổi. Hãy quay lại trang trước và thử lại.',
    },
    rate_limit_exceeded: { title: 'Quá nhiều yêu cầu', words: 'Hãy chờ một phút rồi thử lại.' },
    upstream_unavailable: {
      title: 'Hiện chưa thực hiện được',
      words: 'Không mất dữ liệu nào. Hãy thử lại sau giây lát.',
    },
    internal_error: { title: 'Có lỗi ở phía chúng tôi', words: 'Lỗi đã được ghi lại. Hãy thử lại sau giây lát.' },
  },
};

export const failure = { en, vi };
