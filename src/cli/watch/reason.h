// Why an operator made a NaN or an infinity, in words, and what people do about it. Known from the statistics
// of what it read; of a softmax from its input, if that is in the dump.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/read/operator_run.h"
#include "model/not_finite_search.h"

namespace opdump::cli {

// A tensor of an operator as a table of statistics has it.
struct SlotExtent {
  std::string slot{};  // "input.0"
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  model::DType dtype = model::DType::undefined;
  model::Shape shape{};
  double max = 0, min = 0;  // of the elements; NaN if one is
  model::NotFinite not_finite{};
  std::uint64_t zeros = 0;
  std::string file{};  // of the tensor; empty: only its statistics are in the dump

  double largest() const;  // magnitude
};

// Those of a run that have statistics.
std::vector<SlotExtent> extents_of(const dump::OperatorRun& run);

struct WatchReason {
  std::string why{};                  // "exp of 12.1 exceeds ..."; empty: nobody knows
  std::vector<std::string> advice{};  // sentences
};
// `made`: what is not finite in an output of the run.
WatchReason explain(const dump::OperatorRun& run, const std::vector<SlotExtent>& extents,
                    const SlotExtent& made);

// What helps where a GradScaler does not, and where a NaN comes from outside.
std::vector<std::string> advice_on_scaler();
std::vector<std::string> advice_on_outer_nan();

}  // namespace opdump::cli
