// mapping.csv, mindspore.md 2.5: the names of tensor files that were too long for the file system. Lines
// `<short>.npy,<original>.npy` without a header and without quoting; the original may contain commas.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace opdump::format {

inline constexpr std::string_view kMappingCsvName = "mapping.csv";

struct MappingCsv {
  std::unordered_map<std::string, std::string> originals;  // by short name; of equal ones the last line wins
  std::uint64_t damaged_lines = 0;                         // torn, without a comma, or a name with a '/'
};

// Appends one line. Neither name may hold a line feed, nor the short one a comma.
void append_mapping_line(std::string& out, std::string_view short_name, std::string_view original_name);

// Never fails: lines that are not mappings are counted. No name in the result leads out of the directory.
MappingCsv decode_mapping_csv(std::string_view text);

// Reads files of any size: hands each line to `take` and keeps none. Returns how many are damaged.
using TakeMapping = std::function<void(std::string_view short_name, std::string_view original_name)>;
std::uint64_t decode_mapping_csv(std::string_view text, const TakeMapping& take);

}  // namespace opdump::format
