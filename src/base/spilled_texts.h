// Texts that may be a million, put aside until they are told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/spill.h"

namespace opdump {

class SpilledTexts {
 public:
  void add(std::string_view text) {
    const std::uint64_t size = text.size();
    bytes_.append({reinterpret_cast<const char*>(&size), sizeof size});
    bytes_.append(text);
    ++count_;
  }
  std::uint64_t count() const { return count_; }

  // Calls take(text) -> Result<> for each in their order. Errors: io, and those of `take`.
  template <typename Take>
  Result<> visit(const Take& take) const {
    std::string text;
    for (std::uint64_t at = 0, size = 0; at < bytes_.size(); at += sizeof size + size) {
      OPDUMP_CHECK_OK(bytes_.read(at, {reinterpret_cast<char*>(&size), sizeof size}));
      text.resize(size);
      OPDUMP_CHECK_OK(bytes_.read(at + sizeof size, text));
      OPDUMP_CHECK_OK(take(std::string_view(text)));
    }
    return ok();
  }

 private:
  Spill bytes_;  // each behind its length
  std::uint64_t count_ = 0;
};

}  // namespace opdump
