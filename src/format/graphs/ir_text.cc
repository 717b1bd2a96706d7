#include "format/graphs/ir_text.h"

#include <charconv>
#include <string>
#include <utility>

#include "base/text/text.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::TensorType;

constexpr int kMaxListDepth = 32;

bool opens(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}' || c == '>'; }

// The place behind the quoted text that begins at `i`.
std::size_t skip_quoted(std::string_view text, std::size_t i) {
  for (++i; i < text.size() && text[i] != '"'; ++i)
    if (text[i] == '\\') ++i;
  return i;
}

std::string unquote(std::string_view text) {
  std::string plain;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "I64(30)" is a word and what stands in its parentheses; nothing if `text` is not of this form.
std::optional<std::pair<std::string_view, std::string_view>> split_call(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(')')) return std::nullopt;
  return std::pair(text.substr(0, open), text.substr(open + 1, text.size() - open - 2));
}

// The number in "I64(30)" and its like.
bool parse_number(std::string_view text, Argument& literal) {
  const auto call = split_call(text);
  if (!call) return false;
  const auto [word, digits] = *call;
  const char kind = word[0];
  if (word == "Bool") {
    literal.value = digits == "1" || digits == "true";
  } else if (const auto integer = parse_int64(digits); integer && (kind == 'I' || kind == 'U')) {
    literal.value = *integer;
  } else if (const auto number = parse_double(digits); number && (kind == 'F' || word.starts_with("BF"))) {
    literal.value = *number;
  } else {
    return false;
  }
  return true;
}

std::optional<model::Shape> parse_shape(std::string_view text) {
  auto pieces = take_list(text);
  if (!pieces) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const std::string_view piece : *pieces) {
    const auto dim = parse_int64(piece);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  return model::Shape(dims);
}

// "Tensor[Float32]" or "Ref[Tensor[Float32]]" with "(2, 3)".
std::optional<TensorType> parse_tensor(std::string_view type, std::string_view shape) {
  const std::size_t start = type.find("Tensor[");
  if (start == std::string_view::npos || (start != 0 && !type.starts_with("Ref["))) return std::nullopt;
  type.remove_prefix(start + std::string_view("Tensor[").size());
  TensorType tensor;
  tensor.dtype = model::find_dtype(type.substr(0, type.find(']'))).value_or(model::DType::undefined);
  const auto dims = parse_shape(shape);
  if (!dims) return std::nullopt;
  tensor.shape = *dims;
  return tensor;
}

// "F32" and "I64" of release 1 are Float32 and Int64.
std::optional<model::DType> find_short_dtype(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"BF", "BFloat"}, {"F", "Float"}, {"I", "Int"}, {"U", "UInt"}};
  for (const auto& [start, full] : kClasses)
    if (name.starts_with(start) && is_digits(name.substr(start.size())))
      return model::find_dtype(std::string(full).append(name.substr(start.size())));
  return model::find_dtype(name);
}

// Release 1 has the shape behind the type: "Tensor[Float32]x[const vector][2, 3]", "Ref[Tensor(F32)]x...".
std::optional<TensorType> parse_joined(std::string_view text) {
  constexpr std::string_view kShape = "x[const vector]";
  const std::size_t at = text.rfind(kShape);
  const std::size_t start = text.find("Tensor");
  if (at == std::string_view::npos || start > at || (start != 0 && !text.starts_with("Ref[")))
    return std::nullopt;
  std::string_view type = text.substr(start + std::string_view("Tensor").size(), at);
  const auto names = take_list(type);
  if (!names || names->size() != 1) return std::nullopt;
  const auto shape = parse_shape(text.substr(at + kShape.size()));
  if (!shape) return std::nullopt;
  return TensorType{find_short_dtype(names->front()).value_or(model::DType::undefined), *shape};
}

// "Tuple[Tensor[Int64]*2, Bool]" with "TupleShape((2), (3), NoShape)".
std::vector<std::optional<TensorType>> parse_tuple(std::string_view type, std::string_view shape) {
  std::vector<std::optional<TensorType>> items;
  type.remove_prefix(type.find('['));
  shape.remove_prefix(std::min(shape.find('('), shape.size()));
  const auto types = take_list(type);
  const auto shapes = take_list(shape);
  if (!types || !shapes) return items;
  for (std::string_view item : *types) {
    const std::size_t star = item.rfind('*');
    const auto times = star == std::string_view::npos ? 1 : parse_int64(item.substr(star + 1));
    for (std::int64_t i = 0; i < times.value_or(0) && items.size() < shapes->size(); ++i)
      items.push_back(parse_tensor(item.substr(0, star), (*shapes)[items.size()]));
  }
  return items;
}

}  // namespace

std::optional<std::vector<std::string_view>> take_list(std::string_view& text) {
  if (text.empty() || !opens(text[0])) return std::nullopt;
  std::vector<std::string_view> pieces;
  std::size_t start = 1, depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      i = skip_quoted(text, i);
    } else if (opens(c)) {
      ++depth;
    } else if (closes(c) && !(c == '>' && text[i - 1] == '-')) {
      --depth;
    }
    if (depth > 1 || (depth == 1 && c != ',')) continue;
    const std::string_view piece = trim(text.substr(start, i - start));
    if (depth == 1 || !piece.empty() || !pieces.empty()) pieces.push_back(piece);
    start = i + 1;
    if (depth > 0) continue;
    text.remove_prefix(start);
    return pieces;
  }
  return std::nullopt;
}

Argument parse_literal(std::string_view text, int depth) {
  Argument literal{"", Argument::None{}};
  if (text == "None" || parse_number(text, literal)) return literal;
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
    literal.value = unquote(text);
    return literal;
  }
  std::string_view rest = text;
  const bool is_list = text.starts_with('(') || text.starts_with('[');
  if (const auto pieces = is_list && depth < kMaxListDepth ? take_list(rest) : std::nullopt;
      pieces && rest.empty()) {
    Argument::List list;
    for (const std::string_view piece : *pieces) list.push_back(parse_literal(piece, depth + 1));
    literal.value = std::move(list);
  } else {
    literal.value = std::string(text);
  }
  return literal;
}

std::vector<std::optional<TensorType>> parse_types(std::string_view text) {
  const auto parts = take_list(text);
  if (!parts || parts->empty()) return {std::nullopt};
  if (parts->size() == 1) return {parse_joined(parts->front())};
  const std::string_view type = (*parts)[0], shape = (*parts)[1];
  if (type.starts_with("Tuple[") || type.starts_with("List[")) return parse_tuple(type, shape);
  return {parse_tensor(type, shape)};
}

}  // namespace opdump::format
