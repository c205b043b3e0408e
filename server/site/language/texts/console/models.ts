/*
 * Texts of the page of one model in the console, and of the form that adds one. Names of servers, plugins and settings
 * stay as they are, and so do the names of the fields of the file of prices.
 */

import { html } from '../../../html.js';

const en = {
  model: {
    all: 'All models',
    changed: {
      switched_off: 'Switched off here',
      weights: 'Weights set here',
      prices: 'Prices set here',
      added: 'Added here',
    },
    asConfigured: 'as configured',
    weight: 'Weight',
    names: 'Other names',
    context: 'Context',
    tokens: (tokens: string) => `${tokens} tokens`,
    change: 'Change this model',
    changeWords: html`Changes are effective at once, without a restart, and last. Other nodes follow within 2 seconds. They are kept in the database, beside <code>plugins.config.json</code> and the file of <code>PRICES_FILE</code>, which stay as they are.`,
    switchOff: 'Switch off…',
    switchOffWords:
      'Clients no longer see the model, and new requests for it, by any of its names, are refused with the reason. What runs or was submitted is finished. Switch it on again at any time.',
    switchOffNow: 'Switch the model off',
    switchOn: 'Switch on…',
    switchOnWords: 'Clients see the model again, and it takes requests.',
    switchOnNow: 'Switch the model on',
    weigh: 'Weights…',
    weighWords:
      'Share of the requests of each server, from the next request on: 3 and 1 send three of four to the first. 0: it only replaces others that fail. Running requests stay where they are.',
    weighNow: 'Set the weights',
    unweigh: 'Weights as configured…',
    unweighWords: 'The servers share the requests as the plugins file says.',
    unweighNow: 'Take the weights back',
    price: 'Prices…',
    priceWords: (currency: string) =>
      `What requests cost from the next one on, in ${currency}. Those already charged keep their cost. An empty field is no price of its own; other prices of the model, such as tiers, stay.`,
    priceFields: {
      input: 'Per million input tokens',
      cachedInput: 'Per million cached input tokens',
      cacheWrite: 'Per million tokens written to the cache',
      output: 'Per million output tokens',
      webSearch: 'Per search in the web',
      second: 'Per second of audio',
      characters: 'Per million characters of speech',
      image: 'Per image of any size',
    },
    accept: 'Take them anyway',
    priceNow: 'Set the prices',
    unprice: 'Prices as configured…',
    unpriceWords: 'Requests cost again what the file of prices or the plugins file says.',
    unpriceNow: 'Take the prices back',
    noCurrency: html`This gateway has no currency. Set <code>PRICES_CURRENCY</code>, such as USD, and start it again; then prices can be set here.`,
    add: 'Add a model…',
    addWords:
      'A text model at a server that speaks the OpenAI or Anthropic format. It answers at once, without a restart. A server in a private network must be named in TRUSTED_ORIGINS. Add it again with the same name to change its server or key.',
    addNow: 'Add the model',
    id: 'Name for clients',
    format: 'Format of the server',
    formats: { openai: 'OpenAI', anthropic: 'Anthropic' },
    url: 'Base address',
    urlHint: 'With its version, such as https://api.example.com/v1.',
    nameAtServer: 'Name at the server',
    nameAtServerHint: 'Empty: the same.',
    key: 'Key of the server',
    keyHint: 'Stored encrypted, never shown. Empty: it needs none.',
    replace: 'Server and key…',
    replaceWords: 'New requests go to this server with this key. Running ones are finished at the old one.',
    replaceNow: 'Change the server',
    remove: 'Remove…',
    removeWords:
      'Clients no longer see the model, and its server, key and prices are deleted here. Running requests are finished. To take it back, add it again, for which you need its key.',
    removeNow: 'Remove the model',
  },
};

const vi: typeof en = {
  model: {
    all: 'Mọi mô hình',
    changed: {
      switched_off: 'Tắt tại đây',
      weights: 'Trọng số đặt tại đây',
      prices: 'Giá đặt tại đây',
      added: 'Thêm tại đây',
    },
    asConfigured: 'như cấu hình',
    weight: 'Trọng số',
    names: 'Tên khác',
    context: 'Ngữ cảnh',
    tokens: (tokens) => `${tokens} token`,
    change: 'Thay đổi mô hình này',
    changeWords: html`Thay đổi có hiệu lực ngay, không cần khởi động lại, và được giữ. Các nút khác theo sau trong 2 giây. Chúng nằm trong cơ sở dữ liệu; <code>plugins.config.json</code> và tệp của <code>PRICES_FILE</code> giữ nguyên.`,
    switchOff: 'Tắt…',
    switchOffWords:
      'Khách không còn thấy mô hình, và yêu cầu mới tới nó, dưới mọi tên, bị từ chối kèm lý do. Việc đang chạy hoặc đã gửi vẫn được làm xong. Có thể bật lại bất cứ lúc nào.',
    switchOffNow: 'Tắt mô hình',
    switchOn: 'Bật…',
    switchOnWords: 'Khách lại thấy mô hình và nó nhận yêu cầu.',
    switchOnNow: 'Bật mô hình',
    weigh: 'Trọng số…',
    weighWords:
      'Phần yêu cầu của mỗi máy chủ, từ yêu cầu kế tiếp: 3 và 1 gửi ba trên bốn tới máy đầu. 0: chỉ thay máy khác khi lỗi. Yêu cầu đang chạy giữ nguyên chỗ.',
    weighNow: 'Đặt trọng số',
    unweigh: 'Trọng số như cấu hình…',
    unweighWords: 'Các máy chủ chia yêu cầu như tệp plugins.config.json ghi.',
    unweighNow: 'Bỏ trọng số',
    price: 'Giá…',
    priceWords: (currency) =>
      `Giá của yêu cầu từ yêu cầu kế tiếp, bằng ${currency}. Yêu cầu đã tính giữ nguyên chi phí. Ô trống: không có giá riêng; các giá khác của mô hình, như bậc giá, giữ nguyên.`,
    priceFields: {
      input: 'Một triệu token vào',
      cachedInput: 'Một triệu token vào từ bộ nhớ đệm',
      cacheWrite: 'Một triệu token ghi vào bộ nhớ đệm',
      output: 'Một triệu token ra',
      webSearch: 'Một lần tìm trên web',
      second: 'Một giây âm thanh',
      characters: 'Một triệu ký tự giọng nói',
      image: 'Một ảnh, mọi kích thước',
    },
    accept: 'Vẫn dùng các giá này',
    priceNow: 'Đặt giá',
    unprice: 'Giá như cấu hình…',
    unpriceWords: 'Yêu cầu lại có giá như tệp giá hoặc plugins.config.json ghi.',
    unpriceNow: 'Bỏ giá đã đặt',
    noCurrency: html`Gateway này chưa có loại tiền. Đặt <code>PRICES_CURRENCY</code>, ví dụ USD, rồi khởi động lại; sau đó có thể đặt giá tại đây.`,
    add: 'Thêm mô hình…',
    addWords:
      'Một mô hình văn bản ở máy chủ theo định dạng OpenAI hoặc Anthropic. Nó trả lời ngay, không cần khởi động lại. Máy chủ trong mạng riêng phải có tên trong TRUSTED_ORIGINS. Thêm lại cùng tên để đổi máy chủ hoặc khóa.',
    addNow: 'Thêm mô hình',
    id: 'Tên cho khách',
    format: 'Định dạng của máy chủ',
    formats: { openai: 'OpenAI', anthropic: 'Anthropic' },
    url: 'Địa chỉ gốc',
    urlHint: 'Kèm phiên bản, ví dụ https://api.example.com/v1.',
    nameAtServer: 'Tên ở máy chủ',
    nameAtServerHint: 'Để trống: giống nhau.',
    key: 'Khóa của máy chủ',
    keyHint: 'Được mã hóa, không bao giờ hiện lại. Để trống: không cần khóa.',
    replace: 'Máy chủ và khóa…',
    replaceWords: 'Yêu cầu mới tới máy chủ này với khóa này. Yêu cầu đang chạy được làm xong ở máy cũ.',
    replaceNow: 'Đổi máy chủ',
    remove: 'Gỡ bỏ…',
    removeWords:
      'Khách không còn thấy mô hình; máy chủ, khóa và giá của nó bị xóa ở đây. Yêu cầu đang chạy được làm xong. Muốn có lại thì thêm lại, và cần khóa của nó.',
    removeNow: 'Gỡ bỏ mô hình',
  },
};

export const consoleModels = { en, vi };
