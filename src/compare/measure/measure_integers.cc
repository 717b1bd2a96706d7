#include "compare/measure/measure_integers.h"

#include <string>
#include <utility>
#include <vector>

#include "compare/measure/measure_pair.h"
#include "compare/measure/tensor_layout.h"
#include "dump/read/dump_set.h"
#include "math/convert.h"

namespace opdump::compare {
namespace {

using dump::StoredTensor;

bool is_integer(model::DType dtype) {
  const model::DTypeKind kind = model::dtype_info(dtype).kind;
  return kind == model::DTypeKind::signed_integer || kind == model::DTypeKind::unsigned_integer;
}

}  // namespace

bool mixes_integers(const SlotComparison& slot) {
  if (slot.golden == nullptr || slot.actual == nullptr) return false;
  const model::DType golden = slot.golden->dtype, actual = slot.actual->dtype;
  return (is_integer(golden) && model::is_floating(actual)) ||
         (is_integer(actual) && model::is_floating(golden));
}

void measure_integers(SlotComparison& slot, const CompareOptions& options, unsigned threads) {
  const std::string types = std::string(model::dtype_info(slot.golden->dtype).name) + " against " +
                            std::string(model::dtype_info(slot.actual->dtype).name);
  const auto settle = [&](Verdict verdict, std::string reason) {
    slot.verdict = verdict;
    slot.reason = std::move(reason);
  };
  if (slot.quantisation_step == 0)
    return settle(Verdict::skipped, "quantised without a known scale: " + types);
  auto golden = StoredTensor::read(*slot.golden), actual = StoredTensor::read(*slot.actual);
  if (!golden || !actual)
    return settle(Verdict::unreadable,
                  !golden ? "golden: " + golden.error().message() : "actual: " + actual.error().message());
  if (golden->view().element_count() != actual->view().element_count())
    return settle(Verdict::not_comparable, "shape " + model::format_shape(golden->view().shape) +
                                               " against " + model::format_shape(actual->view().shape));
  const bool is_golden = is_integer(slot.golden->dtype);
  StoredTensor& integers = is_golden ? *golden : *actual;
  const model::TensorView& numbers = (is_golden ? *actual : *golden).view();
  if (auto straight = integers.straighten(); !straight)
    return settle(Verdict::unreadable, straight.error().message());
  const auto count = static_cast<std::size_t>(integers.view().element_count());
  std::vector<float> values(count);
  math::convert_elements(integers.view().dtype, integers.view().data, values.data(), count);
  for (float& value : values)
    value = static_cast<float>((value - slot.quantisation_zero) * slot.quantisation_step);
  const auto meant = model::TensorView::row_major(model::DType::float32, integers.view().shape,
                                                  reinterpret_cast<const std::byte*>(values.data()));
  const model::TensorView &in_golden = is_golden ? meant : numbers, &in_actual = is_golden ? numbers : meant;
  const Layout layout = find_layout(in_golden, in_actual);
  const auto metrics =
      measure_pair(permute(in_actual, layout.actual_axes), permute(in_golden, layout.golden_axes),
                   model::DType::float32, options, threads);
  if (!metrics) return settle(Verdict::not_comparable, metrics.error().message());
  slot.bytes = in_golden.byte_count();
  slot.reason = types;
  judge_metrics(slot, *metrics);
}

}  // namespace opdump::compare
