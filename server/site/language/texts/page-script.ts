/*
 * Texts of the scripts that every page shares: copying, requests and their errors, confirmations.
 */

const en = {
  copy: 'Copy',
  copied: 'Copied',
  pressKeys: 'Press {keys}',
  unreachable: 'The gateway cannot be reached. Check the connection and try again.',
  brokenOff: 'The answer was interrupted. Check the connection and try again.',
  didNotWork: 'This did not work. Try again in a moment.',
  tryAgain: 'Try again',
  platformReason: 'The platform says: “{reason}”.',
  smallerFile: 'Choose a smaller file.',
  tryInMoment: 'Try again in a moment.',
  tryInMinutes: 'Try again in some minutes.',
  onlyPublic: 'Only public items can be read.',
  onlyWithoutAccount: 'Only items that anybody can see without an account can be read.',
  checkLink: 'Check the link, or try another one.',
  seePlans: 'See the plans',
  seeOrders: 'See the orders',
  reloadPage: 'Reload the page',
  signIn: 'Sign in',
  goBack: 'Go back',
  yes: 'Yes',
  remove: 'Remove',
  removeFile: 'Remove {name}',
  leftOut: '{count} left out: at most {most}. The last ones stay.',
  unreadable: '{name} cannot be read.',
};

const vi: typeof en = {
  copy: 'Sao chép',
  copied: 'Đã sao chép',
  pressKeys: 'Nhấn {keys}',
  unreachable: 'Không kết nối được với máy chủ. Hãy kiểm tra mạng rồi thử lại.',
  brokenOff: 'Kết quả bị ngắt giữa chừng. Hãy kiểm tra mạng rồi thử lại.',
  didNotWork: 'Không thực hiện được. Hãy thử lại sau giây lát.',
  tryAgain: 'Thử lại',
  platformReason: 'Nền tảng báo: “{reason}”.',
  smallerFile: 'Hãy chọn tệp nhỏ hơn.',
  tryInMoment: 'Hãy thử lại sau giây lát.',
  tryInMinutes: 'Hãy thử lại sau vài phút.',
  onlyPublic: 'Chỉ đọc được nội dung công khai.',
  onlyWithoutAccount: 'Chỉ đọc được nội dung mà ai cũng xem được không cần tài khoản.',
  checkLink: 'Hãy kiểm tra liên kết hoặc thử liên kết khác.',
  seePlans: 'Xem các gói',
  seeOrders: 'Xem đơn hàng',
  reloadPage: 'Tải lại trang',
  signIn: 'Đăng nhập',
  goBack: 'Quay lại',
  yes: 'Đồng ý',
  remove: 'Bỏ',
  removeFile: 'Bỏ {name}',
  leftOut: 'Đã bỏ {count} tệp: tối đa {most}, giữ các tệp sau cùng.',
  unreadable: 'Không đọc được {name}.',
};

export const pageScript = { en, vi };
