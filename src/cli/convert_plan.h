// What `opdump convert` is asked for, and what is known of it before there is work to divide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "cli/convert_item.h"
#include "cli/select.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

struct ConvertArguments {
  std::string path, output, to = "npy", format, slot;
  RunFilter filter;
};

struct ConvertPlan {
  dump::DumpSet dump;
  Chosen chosen;  // of its runs
  std::uint64_t tensors = 0, bytes = 0;
  std::string digest;  // of what decides about the files that are made
};

// Looks at everything once, and makes the directories: what can go wrong before there is work to divide does.
// Errors: as DumpSet::open and select_runs; not_found -- there is no tensor; io -- a directory cannot be
// made, or leads elsewhere.
Result<ConvertPlan> make_convert_plan(const ConvertArguments& arguments, const ConvertTarget& target,
                                      const LogSink& tell);

}  // namespace opdump::cli
