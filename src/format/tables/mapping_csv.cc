#include "format/tables/mapping_csv.h"

namespace opdump::format {

void append_mapping_line(std::string& out, std::string_view short_name, std::string_view original_name) {
  out.append(short_name).append(",").append(original_name).append("\n");
}

std::uint64_t decode_mapping_csv(std::string_view text, const TakeMapping& take) {
  std::uint64_t damaged_lines = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool torn = end == std::string_view::npos;
    text.remove_prefix(torn ? text.size() : end + 1);
    const std::size_t comma = line.find(',');
    const bool names_missing = comma == std::string_view::npos || comma == 0 || comma + 1 == line.size();
    if (torn || names_missing || line.find('/') != std::string_view::npos ||
        line.find('\0') != std::string_view::npos)
      ++damaged_lines;
    else
      take(line.substr(0, comma), line.substr(comma + 1));
  }
  return damaged_lines;
}

MappingCsv decode_mapping_csv(std::string_view text) {
  MappingCsv mapping;
  mapping.damaged_lines = decode_mapping_csv(text, [&](std::string_view name, std::string_view original) {
    mapping.originals[std::string(name)] = original;
  });
  return mapping;
}

}  // namespace opdump::format
