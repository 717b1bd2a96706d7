// The order in which people expect names: numbers in them count as numbers, so that "blocks.2" comes before
// "blocks.10".
#pragma once

#include <string_view>

namespace opdump {

// A strict weak ordering; names that differ only in leading zeros are ordered by their bytes.
bool natural_less(std::string_view a, std::string_view b);

struct NaturalLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return natural_less(a, b); }
};

}  // namespace opdump
