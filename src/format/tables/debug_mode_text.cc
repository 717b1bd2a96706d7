#include "format/tables/debug_mode_text.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text/text.h"

namespace opdump::format {
namespace {

using model::DType;
using Value = DebugModeValue;

constexpr std::size_t kMaxListDepth = 16;  // of lists in lists
constexpr std::size_t kMaxRank = 64;
constexpr std::size_t kMaxWord = 32;  // bytes

// torch.dtype.abbr
constexpr std::pair<std::string_view, DType> kDTypeWords[] = {{"b8", DType::boolean},
                                                              {"u8", DType::uint8},
                                                              {"i8", DType::int8},
                                                              {"i16", DType::int16},
                                                              {"i32", DType::int32},
                                                              {"i64", DType::int64},
                                                              {"u16", DType::uint16},
                                                              {"u32", DType::uint32},
                                                              {"u64", DType::uint64},
                                                              {"f16", DType::float16},
                                                              {"bf16", DType::bfloat16},
                                                              {"f32", DType::float32},
                                                              {"f64", DType::float64},
                                                              {"c32", DType::complex32},
                                                              {"c64", DType::complex64},
                                                              {"c128", DType::complex128},
                                                              {"f8e4m3fn", DType::float8_e4m3},
                                                              {"f8e5m2", DType::float8_e5m2},
                                                              {"f8e8m0fnu", DType::float8_e8m0}};

std::optional<model::Shape> parse_dims(std::string_view text) {
  std::vector<std::int64_t> dims;
  if (!text.empty())
    for (const std::string_view piece : split(text, ',')) {
      const auto dim = parse_int64(trim(piece));
      if (!dim || *dim < 0 || dims.size() == kMaxRank) return std::nullopt;
      dims.push_back(*dim);
    }
  return model::Shape(std::span<const std::int64_t>(dims));
}

// "t: f32[2, 3]"; nothing if it is no tensor.
std::optional<Value> parse_tensor(std::string_view text) {
  Value tensor;
  tensor.kind = text.starts_with('d')   ? Value::Kind::dtensor
                : text.starts_with('f') ? Value::Kind::fake_tensor
                                        : Value::Kind::tensor;
  if (tensor.kind != Value::Kind::tensor) text.remove_prefix(1);
  const std::size_t colon = text.find(": ");
  if (!text.starts_with('t') || colon == std::string_view::npos) return std::nullopt;
  const std::string_view id = text.substr(1, colon - 1);
  if (!id.empty() && (!id.starts_with('$') || !is_digits(id.substr(1)))) return std::nullopt;
  text.remove_prefix(colon + 2);
  const std::size_t open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const std::string_view dtype = text.substr(0, open);
  const auto is_part_of_word = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_'; };
  if (dtype.empty() || !std::ranges::all_of(dtype, is_part_of_word)) return std::nullopt;
  const auto* known = std::ranges::find(kDTypeWords, dtype, &std::pair<std::string_view, DType>::first);
  if (known != std::end(kDTypeWords)) tensor.dtype = known->second;
  tensor.shape = parse_dims(text.substr(open + 1, close - open - 1));
  return tensor;
}

Value parse_leaf(std::string_view text) {
  if (auto tensor = parse_tensor(text)) return std::move(*tensor);
  Value leaf;
  if (text == "None") leaf.kind = Value::Kind::none;
  return leaf;
}

class ValueParser {
 public:
  explicit ValueParser(std::string_view text) : text_(text) {}

  // Up to the bracket `close`, or to the end.
  std::vector<Value> parse_items(char close, std::size_t depth) {
    std::vector<Value> items;
    while (skip_separators(), at_ < text_.size() && text_[at_] != close)
      items.push_back(parse_value(close, depth));
    if (at_ < text_.size()) ++at_;
    return items;
  }

 private:
  void skip_separators() {
    while (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ' ')) ++at_;
  }

  Value parse_value(char close, std::size_t depth) {
    std::string keyword = depth == 0 ? take_keyword() : std::string();
    const char first = at_ < text_.size() ? text_[at_] : ',';
    Value value;
    if ((first == '[' || first == '(') && depth < kMaxListDepth) {
      ++at_;
      value.items = parse_items(first == '[' ? ']' : ')', depth + 1);
      value.kind = Value::Kind::list;
    } else if (first == '\'' || first == '"') {
      value = parse_leaf(take_quoted(first));
    } else {
      const std::string_view text = take_bare(close);
      value = parse_leaf(text);
      if (value.kind == Value::Kind::other && text.size() <= kMaxWord) value.word = text;
    }
    value.keyword = std::move(keyword);
    return value;
  }

  // The name before '=', if there is one here.
  std::string take_keyword() {
    const auto is_part_of_name = [](char c) {
      return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    std::size_t end = at_;
    while (end < text_.size() && is_part_of_name(text_[end])) ++end;
    if (end == at_ || end == text_.size() || text_[end] != '=') return {};
    const std::size_t begin = std::exchange(at_, end + 1);
    return std::string(text_.substr(begin, end - begin));
  }

  std::string_view take_quoted(char mark) {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != mark) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    const std::string_view quoted = text_.substr(begin, at_ - begin);
    at_ = std::min(at_ + 1, text_.size());
    return quoted;
  }

  // Up to a comma or `close` outside of brackets.
  std::string_view take_bare(char close) {
    const std::size_t begin = at_;
    for (std::size_t depth = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (depth == 0 && (c == ',' || c == close)) break;
      if (c == '[' || c == '(' || c == '{') ++depth;
      if ((c == ']' || c == ')' || c == '}') && depth > 0) --depth;
    }
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<DebugModeValue> parse_debug_mode_values(std::string_view text) {
  return ValueParser(text).parse_items('\0', 0);
}

}  // namespace opdump::format
