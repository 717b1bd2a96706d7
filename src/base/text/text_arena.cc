#include "base/text/text_arena.h"

#include <algorithm>
#include <cstring>

namespace opdump {
namespace {

constexpr std::size_t kLongestLength = 10;

// Seven bits a byte, the lowest first; all but the last have the top bit.
std::size_t put_length(std::size_t length, char* to) {
  std::size_t count = 0;
  for (; length >= 128; length >>= 7) to[count++] = static_cast<char>(length | 128);
  to[count++] = static_cast<char>(length);
  return count;
}

}  // namespace

ArenaText TextArena::add(std::string_view text) {
  const std::size_t most = kLongestLength + text.size();
  if (left_ < most) {
    left_ = std::max(kBlockBytes, most);
    blocks_.push_back(std::unique_ptr<char[]>(new char[left_]));
    next_ = blocks_.back().get();
  }
  char* const at = next_;
  const std::size_t length_bytes = put_length(text.size(), at);
  if (!text.empty()) std::memcpy(at + length_bytes, text.data(), text.size());
  next_ += length_bytes + text.size();
  left_ -= length_bytes + text.size();
  return at;
}

std::string_view TextArena::view(ArenaText text) {
  if (text == nullptr) return {};
  std::size_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*text++);
    length |= static_cast<std::size_t>(byte & 127) << shift;
    if (byte < 128) return {text, length};
  }
}

std::uint32_t InternedTexts::add(std::string_view text) {
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(TextArena::view(arena_.add(text)));
  numbers_.emplace(texts_.back(), number);
  return number;
}

std::optional<std::uint32_t> InternedTexts::find(std::string_view text) const {
  const auto known = numbers_.find(text);
  return known == numbers_.end() ? std::nullopt : std::optional(known->second);
}

}  // namespace opdump
