// Hints for a user who has written a name that is not there.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/text/text.h"

namespace opdump::plan {

// "; nearest: a, b or c": the names that look like `word`. "" if none does.
inline std::string nearest(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kHints = 3;
  const auto similar = find_similar(word, names, kHints);
  return similar.empty() ? "" : "; nearest: " + join_or(similar);
}

}  // namespace opdump::plan
