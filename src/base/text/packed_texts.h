// Texts that are kept by the million: several in one piece of memory.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace opdump {

class PackedTexts {
 public:
  PackedTexts() = default;
  explicit PackedTexts(std::span<const std::string> texts);
  static PackedTexts of_bytes(std::string bytes);  // of bytes() of another
  std::vector<std::string> texts() const { return unpack(bytes_); }
  static std::vector<std::string> unpack(std::string_view bytes);  // of bytes() of another
  std::string_view front() const;                                  // empty if there is none
  std::string_view bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }  // in bytes

 private:
  std::string bytes_;  // each text after its length
};

}  // namespace opdump
