// Regions of a program that a compiler replaced by code of its own. A recording has each as one operator,
// `compiled_R_C`, which no operator of an eager run is paired with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "compare/pairs/pairing.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// What regions of one run say that the other one has no operators for: each is one operator, and what it made
// must be among what the other run read or made in that step, apart from rounding.
struct Regions {
  std::set<std::string> golden = {}, actual = {};  // names of those that agree: all, unless one is wrong
  struct Wrong {
    std::size_t place = 0;  // in the pairs
    bool is_golden = false;
    bool has_operators = false;  // they are recorded, too: the generated code makes something else
  };
  std::optional<Wrong> wrong = {};  // the first one: what is wrong begins there
};
Regions compare_regions(const dump::DumpSet& golden, const dump::DumpSet& actual,
                        std::span<const OperatorPair> pairs);

}  // namespace opdump::compare
