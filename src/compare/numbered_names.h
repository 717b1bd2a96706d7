// Names by number, in the order in which they first came, and numbers by name. There can be many.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text_blocks.h"

namespace opdump::compare {

class NumberedNames {
 public:
  // The number of `name`, which is a new one if it was not there. All names must be less than 4 GiB.
  std::uint32_t add(std::string_view name);
  std::optional<std::uint32_t> find(std::string_view name) const;
  std::string_view at(std::uint32_t number) const { return texts_.at(places_[number]); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }

 private:
  std::size_t slot_of(std::string_view name) const;
  void grow();
  TextBlocks texts_;
  std::vector<std::uint32_t> places_;  // in texts_
  std::vector<std::uint32_t> slots_;   // a hash table: numbers plus 1, 0 where there is none
};

}  // namespace opdump::compare
