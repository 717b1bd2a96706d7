// Rows of data that two runs give a model in batches of other sizes, each in several calls: an evaluation by
// 8 rows against one by 4, or a batch against calls with one row each.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "compare/operator_pair.h"
#include "compare/pairs/rows/axis_map.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// The rows of a call of golden that a call of actual has, by the sizes of the batches.
struct SplitRows {
  NamedAxis axis = {};
  AxisStretch rows = {};
};

struct SplitBatches {
  std::vector<OperatorPair> pairs = {};
  // By the numbers of the calls, where they do not have the same rows.
  std::map<std::pair<std::uint32_t, std::uint32_t>, SplitRows> rows = {};
  // The first execution of each call.
  std::vector<std::uint32_t> golden_calls = {}, actual_calls = {};

  // The numbers of the calls that a whole pair is of.
  std::pair<std::uint32_t, std::uint32_t> calls_of(const OperatorPair& pair) const;
};

// Where calls of a model begin: with steps alone, or also where a step runs the first module again.
enum class CallStart : std::uint8_t { step, first_module };

// The operators of each call of a model paired with those of the calls of the other run that have rows of it,
// by the sizes of their batches, one behind the other; an operator may have several partners. Whether these
// are the same rows, the data must say. A step that trains is one call. No pairs if all batches have the same
// sizes, if a step trains on another number of rows, or if one run ends before the other.
SplitBatches split_batches(const dump::Runs& golden, const dump::Runs& actual, CallStart start);

}  // namespace opdump::compare
