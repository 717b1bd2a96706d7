#include "base/text_blocks.h"

#include <cstring>
#include <utility>

namespace opdump {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;
constexpr std::size_t kLongestLength = 10;

// Seven bits a byte, the lowest first; all but the last have the top bit.
std::size_t put_length(std::size_t length, char* to) {
  std::size_t count = 0;
  for (; length >= 128; length >>= 7) to[count++] = static_cast<char>(length | 128);
  to[count++] = static_cast<char>(length);
  return count;
}

}  // namespace

bool TextBlocks::make_room(std::uint64_t bytes) {
  const std::uint64_t end = blocks_.size() * kBlockBytes;
  if (used_ + bytes <= end) return true;
  const std::uint64_t count = (bytes + kBlockBytes - 1) / kBlockBytes;
  if (end + count * kBlockBytes > kMostBytes) return false;
  used_ = end;
  auto memory = Scratch::make(count * kBlockBytes);
  if (!memory) return false;
  char* const begin = reinterpret_cast<char*>(memory->data());
  for (std::uint64_t i = 0; i < count; ++i) blocks_.push_back({std::move(*memory), begin + i * kBlockBytes});
  return true;
}

const char* TextBlocks::pointer(std::uint32_t place) const {
  return blocks_[place / kBlockBytes].begin + place % kBlockBytes;
}

std::optional<std::uint32_t> TextBlocks::add(std::string_view text) {
  char length[kLongestLength];
  const std::size_t length_bytes = put_length(text.size(), length);
  if (!make_room(length_bytes + text.size())) return std::nullopt;
  const auto place = static_cast<std::uint32_t>(used_);
  char* const to = blocks_[used_ / kBlockBytes].begin + used_ % kBlockBytes;
  std::memcpy(to, length, length_bytes);
  if (!text.empty()) std::memcpy(to + length_bytes, text.data(), text.size());
  used_ += length_bytes + text.size();
  return place;
}

std::string_view TextBlocks::at(std::uint32_t place) const {
  const char* from = pointer(place);
  std::size_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    length |= static_cast<std::size_t>(byte & 127) << shift;
    if (byte < 128) return {from, length};
  }
}

std::uint32_t TextBlocks::place_of_part(std::uint32_t place, std::string_view part) const {
  return place + static_cast<std::uint32_t>(part.data() - pointer(place));
}

}  // namespace opdump
