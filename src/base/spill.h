// Bytes that are put aside in the order in which they come, and read again later: more than a little of them
// lies in a file without a name. It is read and written, not mapped: none of it counts as memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace opdump {

class Spill {
 public:
  // Does not fail: what a file has no room for stays in memory.
  void append(std::string_view bytes);
  std::uint64_t size() const { return written_ + newest_.size(); }

  // The bytes from `at` on; as many as `to` has must be there. Errors: io.
  Result<> read(std::uint64_t at, std::span<char> to) const;

 private:
  Result<> write_newest();
  std::string newest_;         // not yet in the file
  std::uint64_t written_ = 0;  // bytes that are
  Fd file_;
  bool is_full_ = false;  // the file takes no more
};

}  // namespace opdump
