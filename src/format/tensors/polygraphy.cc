#include "format/tensors/polygraphy.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"

namespace opdump::format {
namespace {

constexpr std::size_t kMaxLevels = 64;
constexpr std::string_view kBlanks = " \t\r\n";

// Finds the texts among the values of JSON, and the keys and positions that lead to each. Only brackets and
// texts are looked at.
class TextFinder {
 public:
  using Path = std::vector<std::string>;
  using Take = std::function<void(const Path& path, std::string_view text)>;
  TextFinder(std::string_view text, const Take& take) : text_(text), take_(take) {}

  Result<> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        OPDUMP_CHECK_OK(enter_text());
        continue;
      }
      if (c == '{' || c == '[') OPDUMP_CHECK_OK(open(c == '{'));
      if (c == '}' || c == ']') OPDUMP_CHECK_OK(close());
      if (c == ',' && !open_.empty() && !open_.back().is_object)
        path_.back() = std::to_string(++open_.back().index);
      if (c == ',' && !open_.empty()) open_.back().expects_key = open_.back().is_object;
      ++at_;
    }
    return open_.empty() ? ok() : Result<>(Error(Code::corrupt, "not JSON, or cut off"));
  }

 private:
  struct Level {
    bool is_object = false, expects_key = false;
    std::uint64_t index = 0;
  };

  Result<> open(bool is_object) {
    if (open_.size() == kMaxLevels) return Error(Code::limit, "nested deeper than 64 levels");
    open_.push_back({is_object, is_object});
    path_.emplace_back(is_object ? "" : "0");
    return ok();
  }
  Result<> close() {
    if (open_.empty()) return Error(Code::corrupt, "not JSON: a bracket too many");
    open_.pop_back();
    path_.pop_back();
    return ok();
  }

  Result<> enter_text() {
    std::size_t end = ++at_;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return Error(Code::corrupt, "not JSON: it ends within a text");
    const std::string_view text = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (open_.empty()) return ok();
    if (std::exchange(open_.back().expects_key, false))
      path_.back() = text.find('\\') == text.npos ? std::string(text) : unescape(text);
    else
      take_(path_, text);
    return ok();
  }

  static std::string unescape(std::string_view text) {
    const auto value = parse_json(quote(text));
    return value.is_string() ? value.get<std::string>() : std::string(text);
  }

  std::string_view text_;
  const Take& take_;
  std::size_t at_ = 0;
  std::vector<Level> open_;
  Path path_;
};

constexpr std::array<std::int8_t, 256> make_digits() {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  std::int8_t value = 0;
  for (char c = 'A'; c <= 'Z'; ++c) digits[static_cast<unsigned char>(c)] = value++;
  for (char c = 'a'; c <= 'z'; ++c) digits[static_cast<unsigned char>(c)] = value++;
  for (char c = '0'; c <= '9'; ++c) digits[static_cast<unsigned char>(c)] = value++;
  digits['+'] = value++;
  digits['/'] = value;
  return digits;
}
constexpr std::array<std::int8_t, 256> kDigits = make_digits();

// Returns what is wrong.
std::string read_header(std::string_view text, PolygraphyArray& array) {
  const auto bytes = base64_bytes(text);
  if (!bytes) return bytes.error().message();
  array.npy_bytes = *bytes;
  std::vector<std::byte> start(std::min<std::uint64_t>(*bytes, 12 + kMaxNpyHeader));
  if (auto decoded = decode_base64(text, start); !decoded) return decoded.error().message();
  auto header = decode_npy_header(start, *bytes);
  if (!header) return header.error().message();
  array.header = std::move(*header);
  return {};
}

}  // namespace

bool is_polygraphy(std::string_view start) {
  start.remove_prefix(std::min(start.find_first_not_of(kBlanks), start.size()));
  if (!start.starts_with('{')) return false;
  start.remove_prefix(1);
  start.remove_prefix(std::min(start.find_first_not_of(kBlanks), start.size()));
  return start.starts_with("\"lst\"");
}

Result<> list_polygraphy(std::string_view file, const TakePolygraphyArray& take) {
  std::string runner;
  // lst / runner / 0: its name; lst / runner / 1 / iteration / outputs / name / values / array
  const auto find = [&](const TextFinder::Path& path, std::string_view text) {
    if (path.size() < 3 || path[0] != "lst") return;
    if (path.size() == 3 && path[2] == "0") runner = text;
    if (path.size() != 8 || path[2] != "1" || path[4] != "outputs" || path[6] != "values") return;
    if (path[7] != "array" && path[7] != "tensor") return;
    const auto index = parse_uint64(path[1]), iteration = parse_uint64(path[3]);
    if (!index || !iteration || *index > UINT32_MAX || *iteration > UINT32_MAX) return;
    PolygraphyArray array{runner,
                          static_cast<std::uint32_t>(*index),
                          static_cast<std::uint32_t>(*iteration),
                          path[5],
                          {static_cast<std::uint64_t>(text.data() - file.data()), text.size()},
                          0,
                          {},
                          {}};
    array.fault = path[7] == "tensor" ? "a tensor of torch inside of JSON; let Polygraphy save NumPy arrays"
                                      : read_header(text, array);
    take(std::move(array));
  };
  return TextFinder(file, find).run();
}

Result<std::uint64_t> base64_bytes(std::string_view text) {
  if (text.size() % 4 != 0) return Error(Code::corrupt, "base64 of an odd length");
  const std::uint64_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return text.size() / 4 * 3 - padding;
}

Result<> decode_base64(std::string_view text, std::span<std::byte> bytes) {
  std::size_t done = 0;
  for (std::size_t at = 0; done < bytes.size() && at + 4 <= text.size(); at += 4) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const char c = text[at + i];
      const bool is_padding = c == '=' && i >= 2 && at + 4 == text.size();
      const int digit = is_padding ? 0 : kDigits[static_cast<unsigned char>(c)];
      if (digit < 0) return Error(Code::corrupt, "no base64: character " + std::to_string(at + i));
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    for (int shift = 16; shift >= 0 && done < bytes.size(); shift -= 8)
      bytes[done++] = static_cast<std::byte>(group >> shift & 0xFF);
  }
  return done == bytes.size() ? ok() : Result<>(Error(Code::corrupt, "base64 that ends too early"));
}

}  // namespace opdump::format
