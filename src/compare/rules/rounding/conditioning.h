// Sums whose terms cancel: what is left of them can be smaller than the rounding of the terms, so that two
// machines agree in no digit. The gradient of a bias before a batch norm is one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "compare/comparison.h"
#include "compare/measure/sharded/rank_averages.h"

namespace opdump::compare {

// Half the distance from a number of `dtype` to the next one, relative: 2^-24 for float32, 2^-11 for float16,
// 2^-8 for bfloat16; 2^-53 for float64 and for types whose arithmetic is exact.
double roundoff(model::DType dtype);

// How far apart (relative L2) two tensors of a type may be that operators of each run made in their own way,
// where nothing else shows a parameter that is off by little: a few roundoffs.
double strict_distance(model::DType dtype);

// Returns the strict distance of a type with this roundoff.
double strict_limit(double roundoff);

// The L2 norm of a slot's tensor; nothing if it has none, or a norm that is not finite.
std::optional<double> norm_of_tensor(const dump::Slot& slot);

// A bound for the L2 norm of an output, by the norms of what the operator multiplies and adds up: |A| |B| for
// a product of matrices. Nothing for operators that are no sums of products, or without tensors.
std::optional<double> norm_of_terms(const OperatorComparison& op, const SlotComparison& output);

// The same of an operator of one run, whose tensors are read.
std::optional<double> norm_of_terms(const dump::OperatorRun& run, const dump::Slot& output);

// Is the error of every output that differs rounding, relative to the terms? `input` is the largest relative
// distance of an input. `has_types`: the runs have other types throughout; without that, a 16-bit type on one
// side only is what differs, not how its rounding falls. Outputs of which `is_settled` is true are rounding
// anyway; at least one must be left.
bool is_cancellation(const OperatorComparison& op, double input, bool has_types = false,
                     const std::function<bool(const SlotComparison&)>& is_settled = {});

// Tensors that differ by much, and by rounding only: recognised by what they contain, in any order, also in a
// part, and where one run has converted them to 16 bits since.
class CancelledTensors {
 public:
  void add(const OperatorComparison& op, const SlotComparison& slot);
  bool contain(const OperatorComparison& op, const SlotComparison& slot) const;

 private:
  // By what one run has where they differ most: what the other one has there, and the number of elements.
  struct Peak {
    double other = 0;
    std::uint64_t count = 0;
  };
  using Peaks = std::multimap<double, Peak>;
  bool has_norms(const math::Metrics& metrics) const;
  static bool has(const Peaks& peaks, std::uint64_t count, double one, double other, model::DType dtype);
  Peaks by_golden_, by_actual_;
  // Of both runs' elements in another order, of which another one may differ as much: by number of elements
  // and root mean square of the differences, the norm of actual.
  std::multimap<std::pair<std::uint64_t, double>, double> norms_;
  // Of which ranks have shards, by what they contain: the greatest difference.
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> wholes_;
  RankAverages averages_;
};

}  // namespace opdump::compare
