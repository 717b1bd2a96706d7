#include "format/mapping_csv.h"

namespace opdump::format {

void append_mapping_line(std::string& out, std::string_view short_name, std::string_view original_name) {
  out.append(short_name).append(",").append(original_name).append("\n");
}

MappingCsv decode_mapping_csv(std::string_view text) {
  MappingCsv mapping;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool torn = end == std::string_view::npos;
    text.remove_prefix(torn ? text.size() : end + 1);
    const std::size_t comma = line.find(',');
    const bool names_missing = comma == std::string_view::npos || comma == 0 || comma + 1 == line.size();
    if (torn || names_missing || line.find('/') != std::string_view::npos ||
        line.find('\0') != std::string_view::npos) {
      ++mapping.damaged_lines;
      continue;
    }
    mapping.originals[std::string(line.substr(0, comma))] = line.substr(comma + 1);
  }
  return mapping;
}

}  // namespace opdump::format
