#include "base/packed_texts.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace opdump {
namespace {

using Length = std::uint32_t;  // longer texts are cut

std::string_view take_text(std::string_view& bytes) {
  Length length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const std::string_view text = bytes.substr(sizeof(length), length);
  bytes.remove_prefix(sizeof(length) + length);
  return text;
}

}  // namespace

PackedTexts::PackedTexts(std::span<const std::string> texts) {
  std::size_t size = 0;
  for (const std::string& text : texts) size += sizeof(Length) + text.size();
  bytes_.reserve(size);
  for (const std::string& text : texts) {
    const auto length = static_cast<Length>(text.size());
    bytes_.append(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes_.append(text, 0, length);
  }
}

PackedTexts PackedTexts::of_bytes(std::string bytes) {
  PackedTexts texts;
  texts.bytes_ = std::move(bytes);
  return texts;
}

std::vector<std::string> PackedTexts::texts() const {
  std::vector<std::string> texts;
  for (std::string_view bytes = bytes_; !bytes.empty();) texts.emplace_back(take_text(bytes));
  return texts;
}

std::string_view PackedTexts::front() const {
  std::string_view bytes = bytes_;
  return bytes.empty() ? bytes : take_text(bytes);
}

}  // namespace opdump
