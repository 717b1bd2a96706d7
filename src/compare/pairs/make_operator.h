// A pair of operators with the slots to compare.
#pragma once

#include "compare/comparison.h"
#include "compare/operator_pair.h"
#include "compare/pairs/quantised/quantisation.h"
#include "compare/pairs/sharded/pair_shards.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

struct MatrixUnits;

class AxisOrder;   // pairs/rows/axis_order.h
class CommonRows;  // pairs/rows/common_rows.h

// What two runs are to each other, beside dumps of the same operators.
struct RunRelation {
  bool is_across = false;
  const ShardedRuns* sharded = nullptr;        // may be null
  const Quantisation* quantisation = nullptr;  // may be null
  const CommonRows* rows = nullptr;            // may be null
  const AxisOrder* axes = nullptr;             // may be null
  const MatrixUnits* units = nullptr;          // of one run, or of both; may be null
};

// None of the slots is measured.
OperatorComparison make_operator(const OperatorPair& pair, const dump::DumpSet& golden,
                                 const dump::DumpSet& actual, const RunRelation& relation);

}  // namespace opdump::compare
