// Compares the statistics of two slots where a tensor is missing on one side. Columns that both sides have
// are compared as numbers, by the rule of tensors: |a - g| <= atol + rtol |g|, with
//   - rtol at least 1e-5, because statistic.csv keeps six digits;
//   - for the average, |g| replaced by the root mean square (or the largest magnitude) of the tensor: sums
//     that cancel are not punished;
//   - NaN equals NaN; count, NaN and inf counts are exact, and so is everything of integer tensors;
//   - how many elements are zero, negative or positive decides only if no value does: near zero it is noise;
//   - equal hashes decide "match" at once; different ones decide only if no value does, or for integers;
//   - hash_tensor of PyTorch, by which many tensors are equal, decides only if no value does, or for
//   integers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dump/read/dump_set.h"
#include "math/metrics/metrics.h"
#include "model/dtype.h"

namespace opdump::compare {

using Columns = dump::SlotStatistics::Columns;

struct StatisticsVerdict {
  bool comparable = false;  // they share a column that decides
  bool match = false;
  std::string reason;  // the column that differs: "Max Value 1.5 against 1.7", golden first
};

StatisticsVerdict compare_statistics(const Columns& golden, const Columns& actual, model::DType dtype,
                                     math::Tolerance tolerance);

// The statistics of a tensor in the same text as the dump's, for those of `wanted` that can be computed.
// `dtype` is the original one: hashes are not computed for tensors that were widened when dumped. Errors:
// unsupported -- elements that have no statistics.
Result<Columns> compute_columns(const model::TensorView& tensor, model::DType dtype, const Columns& wanted);

// Computes only the largest and the smallest element and the norm.
Result<Columns> compute_extent(const model::TensorView& tensor, model::DType dtype);

// What a dump knows of a slot: as printed in it; of a slot that has only a tensor, computed in the columns of
// `other`.
struct KnownStatistics {
  Columns columns;
  std::optional<model::Shape> shape;
};
Result<KnownStatistics> statistics_of(const dump::Slot& slot, const dump::Slot& other);

// The number in the column `name`; nothing if it is none, or if there is no such column.
std::optional<double> column_number(const Columns& columns, std::string_view name);

// The statistics of a tensor from those of its parts, of which `counts` has the numbers of elements. Each
// element is in `copies` parts, `scale` times as large as in the tensor. They leave out hashes, which do not
// add up.
Columns merge_columns(std::span<const Columns> parts, std::span<const std::uint64_t> counts,
                      std::uint64_t copies, double scale);

// All columns that compute_columns knows except hashes and what only PyTorch computes, in the usual order.
Columns all_columns();

}  // namespace opdump::compare
