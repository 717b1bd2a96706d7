// What a recording was asked to leave out. A filtered dump and a whole one have the same operators as far as
// both were to have them: what only the whole one has is no difference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dump/read/runs.h"
#include "dump/status_file.h"

namespace opdump::plan {
class OpSelector;
}

namespace opdump::dump {

struct DumpFilter {
  bool inputs = true, outputs = true;  // false: none are there
  std::string operators = {};          // what chooses them, "kernels [\"Conv2D\"]"; empty: all are there
  std::filesystem::path source = {};   // the configuration that says so; empty: it shows by what is absent
  // Chooses by name and type. Null if nothing does, or something else: the program, or its data.
  std::shared_ptr<const plan::OpSelector> selector = nullptr;
  // Operators of which a graph executed more than are there (kind_name() in dump/read/graph_nodes.h).
  std::set<std::string, std::less<>> absent = {};
  bool parameters = true;  // false: none are there, and nothing says that none were to be

  bool leaves_out() const { return !inputs || !outputs || !operators.empty(); }

  // Whether the dump lacks an operator of another dump because it was not to have it.
  bool may_lack(const OperatorRun& run) const;
};

// Reads the text of a data_dump.json of opdump or of the original, or of an acl.json. Errors: corrupt -- it
// is no JSON object.
Result<DumpFilter> decode_filter(std::string_view config);

// Finds the filter of a whole dump in the statuses of its ranks, in the configuration in its root or beside a
// rank, else by what is absent.
// `absent` counts the operators that graphs beside the dump executed and of which nothing is there, by
// kind_name().
DumpFilter find_filter(const Runs& runs, const std::filesystem::path& root,
                       const std::map<std::uint32_t, std::filesystem::path>& rank_directories,
                       const std::map<std::uint32_t, RecordingStatus>& statuses,
                       const std::map<std::string, std::uint64_t>& absent);

}  // namespace opdump::dump
