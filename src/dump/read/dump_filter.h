// What a recording was asked to leave out. A filtered dump and a whole one have the same operators as far as
// both were to have them: what only the whole one has is no difference.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dump/read/runs.h"

namespace opdump::dump {

struct DumpFilter {
  bool inputs = true, outputs = true;  // false: none are there
  std::string operators = {};          // what chooses them, "kernels [\"Conv2D\"]"; empty: all are there
  std::filesystem::path source = {};   // the configuration that says so; empty: it shows by what is absent

  bool leaves_out() const { return !inputs || !outputs || !operators.empty(); }
};

// Reads the text of a data_dump.json of opdump or of the original. Errors: corrupt -- it is no JSON object.
Result<DumpFilter> decode_filter(std::string_view config);

// Finds the filter of a whole dump in the configuration in its root or beside a rank, else by what is absent.
// `absent` is the number of operators that graphs beside the dump executed and of which nothing is there.
DumpFilter find_filter(const Runs& runs, const std::filesystem::path& root,
                       const std::map<std::uint32_t, std::filesystem::path>& rank_directories,
                       std::uint64_t absent);

}  // namespace opdump::dump
