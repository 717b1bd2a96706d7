// Names by number, in the order in which they first came, and numbers by name. There can be millions: beyond
// some megabytes they lie in files that the system may put on the disk (base/scratch.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/scratch_vector.h"
#include "base/text_blocks.h"

namespace opdump::msaccucmp {

class NumberedNames {
 public:
  // The number of `name`, which is a new one if it was not there. Errors: limit, io -- there is no room:
  // all names may have 4 GiB.
  Result<std::uint32_t> add(std::string_view name);
  std::optional<std::uint32_t> find(std::string_view name) const;
  std::string_view at(std::uint32_t number) const { return texts_.at(places_[number]); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }

 private:
  struct Bucket {
    std::uint32_t hash = 0;        // so that few names are looked at
    std::uint32_t number_end = 0;  // the number plus 1; 0 where there is none
  };
  std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  Result<> grow();
  TextBlocks texts_;
  ScratchVector<std::uint32_t> places_;  // in texts_
  ScratchVector<Bucket> slots_;          // a hash table: as many as a power of two
};

}  // namespace opdump::msaccucmp
