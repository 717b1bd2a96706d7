// A number for each of very many keys: up to 43 bytes for each, beyond some megabytes in files that the
// system may put on the disk (base/scratch_vector.h). Keys are hashes: who cannot bear that two texts have
// one number looks at the texts.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/scratch_vector.h"

namespace opdump {

class KeyNumbers {
 public:
  static std::uint64_t key_of(std::string_view text);  // never 0

  // The number of `key`, which begins as 0. It stays where it is until the next call. Errors: io -- there is
  // no room.
  Result<std::uint64_t*> at(std::uint64_t key);

 private:
  struct Entry {
    std::uint64_t key, number;  // no entry has the key 0
  };
  static Entry& find(ScratchVector<Entry>& entries, std::uint64_t key);
  Result<> grow();
  ScratchVector<Entry> entries_;
  std::uint64_t count_ = 0;
};

}  // namespace opdump
