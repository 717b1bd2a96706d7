// How PyTorch's dumper names the datasets of a file (docs/formats/h5.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/text.h"

namespace opdump::dump {

// "/{op}/{call}/{side}/{argument}"; of a list "/{op}/{call}/{side}/{list}/{argument}".
struct H5Path {
  std::string_view op;
  std::uint64_t call = 0;     // the number of the call in the file
  std::string_view side;      // "input" or "output" where the dumper wrote it
  std::string_view argument;  // with its list in front
};

// The result points into `path`. Returns nothing if the path is none of the dumper's.
inline std::optional<H5Path> parse_h5_path(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::string_view rest = path.substr(1);
  std::string_view pieces[3];
  for (std::string_view& piece : pieces) {
    const std::size_t end = rest.find('/');
    if (end == std::string_view::npos) return std::nullopt;
    piece = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  const auto call = parse_uint64(pieces[1]);
  if (!call) return std::nullopt;
  return H5Path{pieces[0], *call, pieces[2], rest};
}

}  // namespace opdump::dump
