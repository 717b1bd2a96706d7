// The task of `opdump convert`: its options, and everything known before the work is divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "cli/convert/convert_item.h"
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
  std::string digest;  // of everything that determines the output files
};

// Checks everything once and creates the directories, so that errors occur before the work is divided.
// Errors: as DumpSet::open and select_runs; not_found -- there is no tensor; io -- a directory cannot be
// created, or is a link.
Result<ConvertPlan> make_convert_plan(const ConvertArguments& arguments, const ConvertTarget& target,
                                      const LogSink& log);

}  // namespace opdump::cli
