// Which parts of a program a dump lacks, and which belong to no step.
#pragma once

#include <string>
#include <vector>

#include "compare/pairing/frame.h"
#include "compare/verdict/verdict.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// Whether compiled regions ran whose backward pass is not recorded.
bool lacks_backward_of_regions(const dump::DumpSet& dump);

// Where absence proves nothing; adds the reasons, but for a backward pass of compiled regions.
Unfinished find_unfinished(const dump::DumpSet& golden, const dump::DumpSet& actual, bool is_sharded,
                           std::vector<std::string>& reasons);

Tails find_tails(const dump::DumpSet& dump);

}  // namespace opdump::compare
