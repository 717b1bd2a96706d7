#include "base/text/expansion.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "base/text/text.h"

namespace opdump {
namespace {

// Text takes 25 bytes for each number, of which a byte may hold eight: that is no reason to refuse it.
constexpr std::uint64_t kUsualMost = 1 << 30, kUsualFactor = 256;
constexpr std::uint64_t kNotSet = UINT64_MAX;

std::uint64_t most_of_environment() {
  const char* const text = std::getenv("OPDUMP_MAX_EXPAND");
  return text == nullptr ? kNotSet : parse_bytes(text).value_or(kNotSet);
}

std::atomic<std::uint64_t>& most_expanded() {
  static std::atomic<std::uint64_t> most = most_of_environment();
  return most;
}

}  // namespace

void set_most_expanded(std::uint64_t bytes) { most_expanded() = bytes; }

Result<> check_expansion(std::uint64_t stored, std::uint64_t bytes, std::string_view what) {
  const std::uint64_t set = most_expanded();
  const bool is_large = stored > UINT64_MAX / kUsualFactor;
  const std::uint64_t usual = is_large ? UINT64_MAX : std::max(kUsualMost, stored * kUsualFactor);
  const std::uint64_t most = set == kNotSet ? usual : set;
  if (bytes <= std::max(stored, most)) return ok();
  return Error(Code::limit, format_bytes(stored) + " would become " + format_bytes(bytes) + " of " +
                                std::string(what) + ", and " + format_bytes(most) +
                                " are allowed; --max-expand or OPDUMP_MAX_EXPAND allows more");
}

}  // namespace opdump
