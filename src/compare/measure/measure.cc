#include "compare/measure/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/file/resident.h"
#include "compare/measure/measure_integers.h"
#include "compare/measure/measure_pair.h"
#include "compare/measure/measure_parts.h"
#include "compare/measure/sharded/measure_shards.h"
#include "compare/measure/statistics.h"
#include "compare/measure/tensor_layout.h"

namespace opdump::compare {
namespace {

using dump::Slot;
using dump::StoredTensor;

constexpr std::uint64_t kBlock = 1 << 20;  // bytes

void settle(SlotComparison& slot, Verdict verdict, std::string reason = {}) {
  slot.verdict = verdict;
  slot.reason = std::move(reason);
}

std::string undumped_reason(const Slot& slot) {
  return slot.undumped_reason.empty() ? "not dumped" : slot.undumped_reason;
}

std::string against(std::string_view what, std::string_view golden, std::string_view actual) {
  return std::string(what).append(" ").append(golden).append(" against ").append(actual);
}

// True if both are the same elements bit by bit. memcmp stops at the first difference, so asking costs
// little where the answer is no, and saves the arithmetic where it is yes.
bool is_identical(const model::TensorView& a, const model::TensorView& b) {
  if (a.dtype != b.dtype || !a.is_contiguous() || !b.is_contiguous()) return false;
  const std::uint64_t bytes = a.byte_count();
  for (std::uint64_t first = 0; first < bytes; first += kBlock) {
    const std::uint64_t block = std::min(kBlock, bytes - first);
    if (std::memcmp(a.data + first, b.data + first, block) != 0) return false;
    give_back_when_due();
  }
  return true;
}

void measure_tensors(SlotComparison& slot, const CompareOptions& options, unsigned threads) {
  auto golden = StoredTensor::read(*slot.golden, dump::Alignment::any);
  if (!golden) return settle(slot, Verdict::unreadable, "golden: " + golden.error().message());
  const model::TensorView& g = golden->view();
  if (slot.dtype == model::DType::undefined) slot.dtype = g.dtype;
  slot.shape = g.shape;
  auto actual = StoredTensor::read(*slot.actual, dump::Alignment::any);
  if (!actual) return settle(slot, Verdict::unreadable, "actual: " + actual.error().message());
  const model::TensorView& a = actual->view();
  const model::DType actual_dtype =
      slot.actual->dtype == model::DType::undefined ? a.dtype : slot.actual->dtype;

  const bool has_parts = slot.parts != nullptr;
  const bool is_relaxed = slot.any_layout && g.element_count() == a.element_count();
  if (!is_relaxed && !has_parts && !(g.shape == a.shape))
    return settle(slot, Verdict::not_comparable,
                  against("shape", model::format_shape(g.shape), model::format_shape(a.shape)));
  for (StoredTensor* const side : {&*golden, &*actual})
    if (auto straight = side->straighten(); !straight)
      return settle(slot, Verdict::unreadable, straight.error().message());
  if (slot.dtype != actual_dtype)
    slot.reason = against("dtype", model::dtype_info(slot.dtype).name, model::dtype_info(actual_dtype).name);
  const model::DType dtype = coarsest_dtype(slot);
  if (has_parts) return measure_parts(slot, g, a, dtype, options, threads);
  slot.bytes = g.byte_count();
  if (is_identical(g, a)) {
    math::Metrics equal;
    equal.count = g.element_count();
    return judge_metrics(slot, equal);
  }
  const Layout layout = is_relaxed ? find_layout(g, a) : Layout();
  if (const std::string moved = layout.describe(g, a); !moved.empty())
    slot.reason += (slot.reason.empty() ? "" : "; ") + moved;
  const model::TensorView in_golden = permute(g, layout.golden_axes);
  slot.shape = in_golden.shape;
  const auto metrics = measure_pair(permute(a, layout.actual_axes), in_golden, dtype, options, threads);
  if (!metrics) {
    slot.bytes = 0;
    return settle(slot, Verdict::not_comparable, metrics.error().message());
  }
  judge_metrics(slot, *metrics);
  const bool can_tell_bits = g.dtype == a.dtype && g.is_contiguous() && a.is_contiguous();
  if (options.is_bitwise && slot.verdict == Verdict::match && can_tell_bits)
    settle(slot, Verdict::own_error, "equal numbers of other bits: the sign of 0, or a NaN");
}

void measure_statistics(SlotComparison& slot, const CompareOptions& options) {
  slot.from_statistics = true;
  if (slot.dtype == model::DType::undefined) slot.dtype = slot.actual->dtype;
  const auto golden = statistics_of(*slot.golden, *slot.actual);
  if (!golden) return settle(slot, Verdict::unreadable, "golden: " + golden.error().message());
  const auto actual = statistics_of(*slot.actual, *slot.golden);
  if (!actual) return settle(slot, Verdict::unreadable, "actual: " + actual.error().message());
  slot.shape = golden->shape;
  if (golden->shape && actual->shape && !(*golden->shape == *actual->shape))
    return settle(slot, Verdict::not_comparable,
                  against("shape", model::format_shape(*golden->shape), model::format_shape(*actual->shape)));
  StatisticsVerdict verdict = compare_statistics(golden->columns, actual->columns, slot.dtype,
                                                 tolerance_of(coarsest_dtype(slot), options));
  if (!verdict.comparable) return settle(slot, Verdict::unreadable, std::move(verdict.reason));
  settle(slot, verdict.match ? Verdict::match : Verdict::own_error, std::move(verdict.reason));
}

void measure_without_data(SlotComparison& slot) {
  const bool golden = slot.golden->has_data(), actual = slot.actual->has_data();
  if (!golden && !actual && slot.golden->undumped_reason == slot.actual->undumped_reason)
    return settle(slot, Verdict::skipped, undumped_reason(*slot.golden));
  const auto& g = slot.golden->shape;
  const auto& a = slot.actual->shape;
  const auto is_empty = [](const auto& shape) { return model::element_count(*shape) == 0U; };
  if (g && a && !(*g == *a) && (is_empty(g) || is_empty(a)))
    return settle(slot, Verdict::not_comparable,
                  against("shape", model::format_shape(*g), model::format_shape(*a)));
  std::string reason;
  if (!golden) reason = "golden has no data: " + undumped_reason(*slot.golden);
  if (!actual)
    reason += (reason.empty() ? "" : "; ") + ("actual has no data: " + undumped_reason(*slot.actual));
  settle(slot, Verdict::unreadable, std::move(reason));
}

}  // namespace

void measure_slot(SlotComparison& slot, const CompareOptions& options, unsigned threads) {
  const Slot& described = slot.golden != nullptr ? *slot.golden : *slot.actual;
  slot.dtype = described.dtype;
  slot.shape = described.shape;
  if (slot.golden == nullptr) return settle(slot, Verdict::extra, "only in actual");
  if (slot.actual == nullptr) return settle(slot, Verdict::missing, "only in golden");
  if (!slot.golden->has_data() || !slot.actual->has_data()) return measure_without_data(slot);
  if (slot.parts != nullptr && !slot.parts->left_out.empty())
    return settle(slot, Verdict::skipped, slot.parts->left_out);
  if (slot.sharded != nullptr) return measure_shards(slot, options, threads);
  if (slot.is_quantised) return measure_integers(slot, options, threads);
  if (!slot.golden->file.empty() && !slot.actual->file.empty())
    return measure_tensors(slot, options, threads);
  if (slot.parts != nullptr) return settle(slot, Verdict::unreadable, "statistics do not tell rows apart");
  measure_statistics(slot, options);
}

}  // namespace opdump::compare
