#include "model/frame.h"

#include <algorithm>
#include <charconv>

namespace opdump::model {

std::string format_frame(const Frame& frame) {
  return frame.file + ":" + std::to_string(frame.line) + ":" + frame.function;
}

// The last such number: a file may have colons in its name, and so may a function ("ns::f").
std::optional<Frame> parse_frame(std::string_view text) {
  for (std::size_t end = text.rfind(':'); end != std::string_view::npos && end > 0;
       end = text.rfind(':', end - 1)) {
    const std::size_t colon = text.rfind(':', end - 1);
    if (colon == std::string_view::npos) break;
    int line = 0;
    const char* const stop = text.data() + end;
    const auto [after, failed] = std::from_chars(text.data() + colon + 1, stop, line);
    if (failed == std::errc() && after == stop && line >= 0)
      return Frame{std::string(text.substr(0, colon)), line, std::string(text.substr(end + 1))};
  }
  return std::nullopt;
}

const Frame* find_user_frame(std::span<const Frame> stack) {
  const auto found = std::ranges::find_if_not(stack, [](const Frame& frame) {
    return frame.file.find("-packages/") != std::string::npos ||
           frame.file.find("/lib/python") != std::string::npos;
  });
  return found == stack.end() ? nullptr : &*found;
}

}  // namespace opdump::model
