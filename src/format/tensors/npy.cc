#include "format/tensors/npy.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/content.h"
#include "base/text/text.h"

namespace opdump::format {
namespace {

using model::DType;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;

Error corrupt(std::string message) { return {Code::corrupt, "header: " + std::move(message)}; }

// The header is a Python dict literal. Only what numpy.save can produce is understood: string keys, and as
// values strings, True, False and tuples of integers.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  Result<NpyHeader> parse() {
    if (!accept('{')) return expected("'{'");
    while (!accept('}')) {
      OPDUMP_CHECK_OK(parse_entry());
      if (!accept(',') && peek() != '}') return expected("',' or '}'");
    }
    skip_blanks();
    if (at_ < text_.size()) return expected("nothing after '}'");
    if (!has_descr_) return corrupt("descr is missing");
    if (!has_order_) return corrupt("fortran_order is missing");
    if (!has_shape_) return corrupt("shape is missing");
    return std::move(header_);
  }

 private:
  Result<> parse_entry() {
    OPDUMP_TRY(const std::string_view key, parse_string());
    if (!accept(':')) return expected("':'");
    bool* const seen = key == "descr"           ? &has_descr_
                       : key == "fortran_order" ? &has_order_
                       : key == "shape"         ? &has_shape_
                                                : nullptr;
    if (seen == nullptr) return corrupt("key other than descr, fortran_order and shape");
    if (std::exchange(*seen, true)) return corrupt(std::string(key) + " is given twice");
    if (seen == &has_shape_) return parse_shape();
    if (seen == &has_order_) return parse_order();
    if (peek() == '[')
      return Error(Code::unsupported, "header: structured dtype; one number per element is read");
    OPDUMP_TRY(const std::string_view descr, parse_string());
    header_.descr = descr;
    return ok();
  }

  Result<std::string_view> parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return expected("a quoted string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return corrupt("string without end");
    const std::string_view body = text_.substr(at_ + 1, end - at_ - 1);
    if (body.find('\\') != std::string_view::npos) return corrupt("escape in a string");
    at_ = end + 1;
    return body;
  }

  Result<> parse_order() {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    header_.fortran_order = rest.starts_with("True");
    if (!header_.fortran_order && !rest.starts_with("False")) return expected("True or False");
    at_ += header_.fortran_order ? 4 : 5;
    return ok();
  }

  Result<> parse_shape() {
    if (!accept('(')) return expected("'('");
    std::vector<std::int64_t> dims;
    while (!accept(')')) {
      skip_blanks();
      const std::size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
      const auto dim = parse_int64(text_.substr(at_, end - at_));
      if (!dim) return expected("a dimension");
      dims.push_back(*dim);
      at_ = end;
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
      if (!accept(',') && peek() != ')') return expected("',' or ')'");
    }
    header_.shape = model::Shape(dims);
    return ok();
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  // The next character that is not blank, or 0 at the end.
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  Error expected(std::string_view what) const {
    return corrupt("at byte " + std::to_string(at_) + " of the dictionary, expected " + std::string(what));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

Result<DType> dtype_of(std::string_view descr) {
  const auto unsupported = [&](std::string_view why) {
    return Error(Code::unsupported, "dtype '" + std::string(descr) + "': " + std::string(why));
  };
  if (descr.find('O') != std::string_view::npos)
    return unsupported("object arrays hold pickles and are never read");
  if (descr == "|V2") return unsupported("raw 2-byte elements; bfloat16 must be saved as float32");
  if (descr == "<E2") return DType::bfloat16;
  if (descr.size() < 2) return unsupported("expected a code such as '<f4'");
  for (int number = 0; number < model::kDTypeCount; ++number) {
    const model::DTypeInfo& info = model::dtype_info(static_cast<DType>(number));
    if (info.npy_descr.empty() || info.npy_descr.substr(1) != descr.substr(1)) continue;
    const bool byte_order_matters = info.npy_descr[0] != '|';
    if (byte_order_matters && descr[0] == '>') return unsupported("big endian; only little endian is read");
    if (descr[0] == '<' || descr[0] == '|' || descr[0] == '=' || descr[0] == '>') return info.dtype;
  }
  return unsupported("expected one of the numeric types");
}

// Where the dictionary lies in the file, and how long it is.
struct HeaderSpan {
  std::size_t offset, length;
};

Result<HeaderSpan> find_dictionary(std::span<const std::byte> start) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(start[i]); };
  if (start.size() < kMagic.size() + 4 ||
      !std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                  [](char a, std::byte b) { return static_cast<std::byte>(a) == b; }))
    return Error(
        Code::corrupt,
        with_content("not a .npy file: it does not start with \\x93NUMPY and a header length", start));
  const std::size_t major = byte(6);
  if (major < 1 || major > 3)
    return Error(Code::unsupported, "version " + std::to_string(major) + ".x; we read 1.x to 3.x");
  if (major == 1) return HeaderSpan{10, byte(8) | byte(9) << 8};
  if (start.size() < 12) return corrupt("ends within its length");
  return HeaderSpan{12, byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24};
}

}  // namespace

std::uint64_t NpyHeader::data_bytes() const {
  return model::TensorView{dtype, shape, {}, nullptr}.byte_count();
}

namespace {

// The shape and the end of the dictionary.
void append_shape(std::string& text, const model::Shape& shape, NpySpelling spelling) {
  constexpr std::size_t kLongestDimension = 21;
  const bool is_numpy = spelling == NpySpelling::numpy;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    text.append(std::to_string(shape[i]));
    if (!is_numpy || shape.rank() == 1)
      text += ',';
    else if (i + 1 < shape.rank())
      text += ", ";
  }
  text += "), }";
  if (is_numpy && shape.rank() > 0) text.append(kLongestDimension - std::to_string(shape[0]).size(), ' ');
}

}  // namespace

Result<std::string> encode_npy_header(DType dtype, const model::Shape& shape, NpySpelling spelling) {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  if (info.npy_descr.empty()) return Error(Code::unsupported, std::string(info.name) + " has no .npy type");
  std::string text("{'descr': '");
  text.append(info.npy_descr).append("', 'fortran_order': False, 'shape': (");
  append_shape(text, shape, spelling);
  const std::size_t unpadded = 10 + text.size() + 1;
  text.append(kAlignment - unpadded % kAlignment, ' ') += '\n';  // 64 blanks when nothing is to be aligned
  if (text.size() > 0xFFFF)
    return Error(Code::limit,
                 "shape of " + std::to_string(shape.rank()) + " dimensions; its header exceeds 65535 bytes");
  std::string bytes(kMagic);
  bytes.append({'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)});
  return bytes += text;
}

Result<NpyHeader> decode_npy_header(std::span<const std::byte> file) {
  return decode_npy_header(file, file.size());
}

Result<NpyHeader> decode_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes) {
  OPDUMP_TRY(const HeaderSpan extent, find_dictionary(start));
  if (extent.length > kMaxNpyHeader)
    return Error(Code::limit, "header of " + std::to_string(extent.length) + " bytes; at most 65536");
  if (extent.length > start.size() - extent.offset)
    return corrupt(std::to_string(extent.length) + " bytes announced, " +
                   std::to_string(start.size() - extent.offset) + " in file");
  const auto* text = reinterpret_cast<const char*>(start.data()) + extent.offset;
  OPDUMP_TRY(NpyHeader header, DictParser({text, extent.length}).parse());
  OPDUMP_TRY(header.dtype, dtype_of(header.descr));
  header.data_offset = extent.offset + extent.length;

  const auto count = model::element_count(header.shape);
  if (!count) return corrupt("shape " + model::format_shape(header.shape) + " is larger than any file");
  const std::uint64_t element_bytes = model::dtype_info(header.dtype).bits / 8;
  const std::uint64_t available = file_bytes > header.data_offset ? file_bytes - header.data_offset : 0;
  if (*count > available / element_bytes)
    return corrupt(std::to_string(*count) + " elements of " + std::to_string(element_bytes) +
                   " bytes announced, " + std::to_string(available) + " bytes in file");
  return header;
}

}  // namespace opdump::format
