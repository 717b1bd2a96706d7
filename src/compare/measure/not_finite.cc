#include "compare/measure/not_finite.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "dump/read/dump_set.h"
#include "math/convert.h"

namespace opdump::compare {
namespace {

// Extremes are NaN if an element is, and infinite if one is; NaN hides the infinities.
std::optional<NotFinite> guess_by_extremes(const Columns& columns) {
  std::optional<NotFinite> found;
  for (const auto& [name, text] : columns) {
    if (name != "Max Value" && name != "Min Value") continue;
    if (!found) found = NotFinite{.is_counted = false};
    const std::string lower = to_lower(text);
    found->nan |= lower.find("nan") != std::string::npos;
    found->inf |= lower.find("inf") != std::string::npos;
  }
  return found;
}

// The axis that a softmax is taken along; nothing if the log does not say.
std::optional<std::int64_t> axis_of(const dump::OperatorRun& run, std::size_t rank) {
  if (run.form == nullptr) return std::nullopt;
  const auto arguments = nlohmann::json::parse(run.form->arguments, nullptr, false);
  if (!arguments.is_object()) return std::nullopt;
  for (const char* const name : {"dim", "axis"}) {
    const auto found = arguments.find(name);
    if (found == arguments.end() || !found->is_number_integer()) continue;
    const auto axis = found->get<std::int64_t>(), size = static_cast<std::int64_t>(rank);
    if (axis >= -size && axis < size) return axis < 0 ? axis + size : axis;
  }
  return std::nullopt;
}

// How many of the rows along an axis of row-major elements are negative infinity throughout, and of how many.
std::pair<std::int64_t, std::int64_t> count_masked_rows(const model::TensorView& view, std::int64_t axis) {
  const auto dims = view.shape.dims();
  std::int64_t inner = 1, outer = 1, masked = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (std::cmp_less(i, axis)) outer *= dims[i];
    if (std::cmp_greater(i, axis)) inner *= dims[i];
  }
  const std::int64_t length = dims[static_cast<std::size_t>(axis)];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      bool is_masked = length > 0;
      for (std::int64_t k = 0; k < length && is_masked; ++k)
        is_masked = math::element_as_double(view.dtype, view.data, (o * length + k) * inner + i) == -INFINITY;
      masked += is_masked;
    }
  return {masked, outer * inner};
}

// Whether the largest or smallest element is the last finite one of its type.
bool has_largest_number(const dump::Slot& slot) {
  Columns extremes = slot.statistics.columns();
  if (!slot.file.empty()) {
    const auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
    if (!tensor) return false;
    auto computed = compute_columns(tensor->view(), slot.dtype, {{"Max Value", ""}, {"Min Value", ""}});
    if (!computed) return false;
    extremes = std::move(*computed);
  }
  const std::optional<double> largest = model::largest_number(slot.dtype);
  return std::ranges::any_of(extremes, [&](const auto& column) {
    const bool is_extreme = column.first == "Max Value" || column.first == "Min Value";
    return is_extreme && largest && std::abs(std::strtod(column.second.c_str(), nullptr)) == *largest;
  });
}

}  // namespace

std::optional<NotFinite> count_not_finite(const Columns& columns) {
  NotFinite found;
  int known = 0;
  for (const auto& [name, text] : columns) {
    const bool is_nan = name == "NaN Count";
    if (!is_nan && name != "Negative Inf Count" && name != "Positive Inf Count") continue;
    ++known;
    (is_nan ? found.nan : found.inf) += parse_uint64(text).value_or(0);
  }
  return known == 3 ? found : guess_by_extremes(columns);
}

std::optional<NotFinite> count_not_finite(const dump::Slot& slot) {
  const auto recorded = count_not_finite(slot.statistics.columns());
  if ((recorded && recorded->is_counted) || slot.file.empty()) return recorded;
  const auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
  if (!tensor) return recorded;
  const Columns wanted{{"NaN Count", ""}, {"Negative Inf Count", ""}, {"Positive Inf Count", ""}};
  const auto computed = compute_columns(tensor->view(), slot.dtype, wanted);
  return computed ? count_not_finite(*computed) : recorded;
}

bool asks_for_infinity(const dump::CallForm* form) {
  return form != nullptr && form->arguments.find("inf\"") != std::string::npos;
}

std::string describe(const NotFinite& found) {
  if (found.is_counted)
    return std::to_string(found.nan) + " NaN and " + std::to_string(found.inf) + " infinities";
  return found.nan > 0 && found.inf > 0 ? "NaN and infinities" : found.nan > 0 ? "NaN" : "infinities";
}

std::string describe_making(const NotFiniteSearch::NotFiniteTensor& finding) {
  if (finding.read.nan > 0) return "its inputs have NaN, too";
  if (finding.read.inf == 0) return "its inputs are finite: it made them";
  const std::string count =
      finding.read.is_counted
          ? std::to_string(finding.read.inf) + inflect(finding.read.inf, " infinity", " infinities")
          : "infinities";
  return "its inputs have " + count + " and no NaN: it made them";
}

const dump::Slot* saturated_output(const dump::OperatorRun& run) {
  if (run.form != nullptr && run.form->arguments.find("65504") != std::string::npos) return nullptr;
  const dump::Slot* output = nullptr;
  for (const dump::Slot& slot : run.slots) {
    if (slot.dtype != model::DType::float16) continue;
    const bool is_output = slot.side == model::Side::output;
    if ((is_output && output != nullptr) || !has_largest_number(slot)) continue;
    if (!is_output) return nullptr;
    output = &slot;
  }
  return output;
}

std::string describe_saturated(const dump::Slot& output) {
  return "output." + std::to_string(output.index) +
         " has 65504, the largest number of float16, and its inputs do not: a larger result may be cut off";
}

std::string explain_nan(const dump::OperatorRun& run) {
  if (!to_lower(run.type).ends_with("softmax")) return {};
  for (const dump::Slot& slot : run.slots) {
    if (slot.side != model::Side::input || slot.file.empty()) continue;
    auto tensor = dump::StoredTensor::read(slot);
    if (!tensor || !tensor->straighten() || !model::is_floating(tensor->view().dtype)) return {};
    const auto axis = axis_of(run, tensor->view().shape.dims().size());
    if (!axis || tensor->view().strides != model::row_major_strides(tensor->view().shape)) return {};
    const auto [masked, rows] = count_masked_rows(tensor->view(), *axis);
    if (masked == 0) return {};
    return std::to_string(masked) + " of " + counted(static_cast<std::uint64_t>(rows), "row") +
           " along axis " + std::to_string(*axis) + " of its input." + std::to_string(slot.index) +
           inflect(masked, " is", " are") + " -inf in all elements, and a softmax of that is 0/0";
  }
  return {};
}

}  // namespace opdump::compare
