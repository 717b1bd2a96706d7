#include "base/text/packed_texts.h"

#include <utility>

#include "base/text/packing.h"

namespace opdump {

PackedTexts::PackedTexts(std::span<const std::string> texts) {
  constexpr std::size_t kUsualLength = 1;  // of a length
  std::size_t size = 0;
  for (const std::string& text : texts) size += kUsualLength + text.size();
  bytes_.reserve(size);
  Packer out(bytes_);
  for (const std::string& text : texts) out.text(text);
}

PackedTexts PackedTexts::of_bytes(std::string bytes) {
  PackedTexts texts;
  texts.bytes_ = std::move(bytes);
  return texts;
}

std::vector<std::string> PackedTexts::unpack(std::string_view bytes) {
  constexpr std::size_t kUsualCount = 24;
  std::vector<std::string> texts;
  texts.reserve(kUsualCount);
  for (Unpacker in(bytes); !in.is_empty();) texts.emplace_back(in.text());
  return texts;
}

std::string_view PackedTexts::front() const { return Unpacker(bytes_).text(); }

}  // namespace opdump
