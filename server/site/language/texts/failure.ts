/*
 * Texts of the pages of errors, by the code of the error. English pages of other codes show the message of the error,
 * which is for programs; Vietnamese ones a sentence for all.
 */

export interface FailureTexts {
  title: string;
  /** Default: the message of the error. */
  words?: string;
}

const en = {
  signIn: 'Sign in',
  signInAgain: 'Sign in again',
  homePage: 'Home page',
  request: 'Request',
  other: { title: 'This did not work' } as FailureTexts,
  codes: {
    route_not_found: { title: 'Page not found', words: 'The address is wrong, or the page no longer exists.' },
    order_not_found: { title: 'Order not found', words: 'The code is wrong, or the order belongs to another account.' },
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
  other: { title: 'Không thực hiện được', words: 'Yêu cầu bị từ chối. Mã lỗi bên dưới cho biết lý do.' },
  codes: {
    route_not_found: { title: 'Không tìm thấy trang', words: 'Địa chỉ sai hoặc trang không còn nữa.' },
    order_not_found: { title: 'Không tìm thấy đơn hàng', words: 'Mã sai hoặc đơn hàng thuộc tài khoản khác.' },
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
