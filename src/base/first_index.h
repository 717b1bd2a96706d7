// Binary search where there is nothing to walk over but numbers.
#pragma once

#include <cstddef>

namespace opdump {

// The first i in [begin, end) with holds(i), or `end`. Behind one that holds all do.
template <typename Holds>
std::size_t first_index(std::size_t begin, std::size_t end, const Holds& holds) {
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (holds(middle))
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

}  // namespace opdump
