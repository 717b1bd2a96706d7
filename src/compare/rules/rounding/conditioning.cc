#include "compare/rules/rounding/conditioning.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/key_slots.h"
#include "compare/measure/sharded/sharded_slot.h"
#include "compare/names.h"
#include "compare/wiring/content.h"
#include "dump/read/dump_set.h"
#include "math/stats/stats.h"
#include "math/sum.h"

namespace opdump::compare {
namespace {

constexpr std::uint64_t kPieceBytes = 32 << 20;
// The same where operators of both runs differ, too: what they read and make must be right by itself, because
// nothing else shows a parameter that is off by little. 16-bit types round a few times.
constexpr double kStrictRoundoffs = 4, kEqualRoundoffs = 32, kStrictDistance = 1e-5;
// The order of addition changes a result by so many roundoffs of the norm of its terms; one element may be
// off by kPeak times as much as the mean.
constexpr double kRoundoffs = 8, kPeak = 16;

const SlotComparison* find_slot(const OperatorComparison& op, model::Side side, std::uint32_t index) {
  const auto found = std::ranges::find_if(op.slots, [&](const SlotComparison& slot) {
    return slot.golden != nullptr && slot.actual != nullptr && side_of(slot) == side &&
           slot.golden->index == index;
  });
  return found == op.slots.end() ? nullptr : &*found;
}

double elements_of(const std::optional<model::Shape>& shape) {
  return shape ? static_cast<double>(model::element_count(*shape).value_or(0)) : 0;
}

// Returns the norm of golden's tensor.
std::optional<double> norm_of(const SlotComparison& slot) {
  if (!slot.metrics) return std::nullopt;
  const math::Metrics& metrics = *slot.metrics;
  if (metrics.relative_l2 > 0 && std::isfinite(metrics.relative_l2) && std::isfinite(metrics.rmse))
    return metrics.rmse / metrics.relative_l2 * std::sqrt(static_cast<double>(metrics.count));
  return norm_of_tensor(*slot.golden);
}

// The terms of one operator: what it multiplies and adds up.
class Terms {
 public:
  struct Operand {
    const std::optional<model::Shape>* shape = nullptr;  // null: it is not there
    std::function<std::optional<double>()> norm;
  };
  using Find = std::function<Operand(std::uint32_t input)>;

  Terms(std::string_view type, Find find) : type_(type), find_(std::move(find)) {}

  // Bounds the norm of an output with so many elements.
  std::optional<double> norm(std::uint32_t output, double elements) const {
    if (is_one_of({"sum", "mean"})) return sum(0, elements, type_ == "mean");
    if (is_one_of({"mm", "bmm", "mv", "dot"})) return product(0, 1);
    if (is_one_of({"addmm", "baddbmm", "addmv"})) return product(1, 2);
    if (type_ == "convolution") return times(std::sqrt(window_of(1)), product(0, 1));
    if (type_ == "convolution_backward") {
      const double window = std::sqrt(window_of(2));
      return output == 0   ? times(window, product(0, 2))
             : output == 1 ? times(window, product(0, 1))
                           : sum(0, elements, false);
    }
    // Their means; a batch norm's running one moves with it.
    const bool has_mean = output == 1 || (output == 3 && type_ == "native_batch_norm");
    if (has_mean && is_one_of({"native_layer_norm", "native_group_norm", "native_batch_norm"}))
      return sum(0, elements, true);
    const bool is_norm =
        is_one_of({"native_batch_norm_backward", "native_layer_norm_backward", "native_group_norm_backward"});
    return is_norm && output > 0 ? sum(0, elements, false) : std::nullopt;
  }

 private:
  bool is_one_of(std::initializer_list<std::string_view> types) const {
    return std::ranges::find(types, type_) != types.end();
  }

  std::optional<double> norm_of_input(std::uint32_t input) const {
    const Operand operand = find_(input);
    return operand.shape == nullptr ? std::nullopt : operand.norm();
  }

  std::optional<double> product(std::uint32_t a, std::uint32_t b) const {
    const auto first = norm_of_input(a);
    return first ? times(*first, norm_of_input(b)) : std::nullopt;
  }

  // The sum of all elements of an input that one of `count` elements of the output depends on.
  std::optional<double> sum(std::uint32_t input, double count, bool is_mean) const {
    const auto norm = norm_of_input(input);
    if (!norm || !(count > 0)) return std::nullopt;
    const double added = std::max(1.0, elements_of(*find_(input).shape) / count);
    return *norm * (is_mean ? 1 / std::sqrt(added) : std::sqrt(added));
  }

  // How many elements of a window of a convolution read the same element.
  double window_of(std::uint32_t weight) const {
    const Operand operand = find_(weight);
    double size = 1;
    if (operand.shape == nullptr || !*operand.shape) return size;
    const auto& dims = (*operand.shape)->dims();
    for (std::size_t i = 2; i < dims.size(); ++i) size *= static_cast<double>(dims[i]);
    return size;
  }

  static std::optional<double> times(double factor, std::optional<double> norm) {
    return norm ? std::optional(factor * *norm) : std::nullopt;
  }

  std::string_view type_;
  Find find_;
};

const dump::OperatorRun& whole_run_of(const OperatorComparison& op, const SlotComparison& slot) {
  return slot.sharded->is_golden ? *op.actual : *op.golden;
}

// Reads the tensor of the side with fewer ranks, of a slot with `sharded`.
std::optional<RankAverages::Tensor> read_tensor(const SlotComparison& slot) {
  if (whole_of(slot).file.empty()) return std::nullopt;
  const auto stored = dump::StoredTensor::read(whole_of(slot));
  if (!stored || !model::is_floating(stored->view().dtype)) return std::nullopt;
  const model::TensorView& view = stored->view();
  const std::uint64_t count = view.element_count();
  if (count == 0 || count > RankAverages::kMostElements) return std::nullopt;
  RankAverages::Tensor tensor{view.shape, std::vector<double>(count), slot.metrics->max_abs};
  math::sum_tensors({&view, 1}, 1, tensor.elements);
  return tensor;
}

}  // namespace

double roundoff(model::DType dtype) {
  switch (dtype) {
    case model::DType::bfloat16:
      return 0x1p-8;
    case model::DType::float16:
      return 0x1p-11;
    case model::DType::float32:
    case model::DType::complex64:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

double strict_limit(double u) {
  return std::max(kStrictRoundoffs * u, std::min(kEqualRoundoffs * u, kStrictDistance));
}

double strict_distance(model::DType dtype) { return strict_limit(roundoff(dtype)); }

std::optional<double> norm_of_tensor(const dump::Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor || !math::has_statistics(tensor->view().dtype)) return std::nullopt;
  math::StatPartial whole = math::make_partial();
  for (const model::TensorView& piece : math::split_view(tensor->view(), kPieceBytes))
    math::merge(whole, math::partial_stats(piece, {.squares = true}));
  const double norm = math::finish(whole).l2norm;
  return std::isfinite(norm) ? std::optional(norm) : std::nullopt;
}

std::optional<double> norm_of_terms(const OperatorComparison& op, const SlotComparison& output) {
  const Terms terms(op.run().type, [&](std::uint32_t input) {
    const SlotComparison* slot = find_slot(op, model::Side::input, input);
    return slot == nullptr ? Terms::Operand()
                           : Terms::Operand{&slot->shape, [slot] { return norm_of(*slot); }};
  });
  return terms.norm(output.golden->index, elements_of(output.shape));
}

std::optional<double> norm_of_terms(const dump::OperatorRun& run, const dump::Slot& output) {
  const Terms terms(run.type, [&](std::uint32_t input) {
    const auto slot = std::ranges::find_if(run.slots, [&](const dump::Slot& one) {
      return one.side == model::Side::input && one.index == input;
    });
    return slot == run.slots.end() ? Terms::Operand()
                                   : Terms::Operand{&slot->shape, [slot] { return norm_of_tensor(*slot); }};
  });
  return terms.norm(output.index, elements_of(output.shape));
}

bool is_cancellation(const OperatorComparison& op, double input, bool has_types,
                     const std::function<bool(const SlotComparison&)>& is_settled) {
  bool has_one = false;
  for (const SlotComparison& slot : op.slots) {
    if (side_of(slot) != model::Side::output || slot.verdict == Verdict::match ||
        slot.verdict == Verdict::skipped || (is_settled && is_settled(slot)))
      continue;
    if (!slot.metrics || slot.metrics->nan_mismatch_count > 0) return false;
    const auto terms = norm_of_terms(op, slot);
    if (!terms) return false;
    const double u = roundoff(coarsest_dtype(slot));
    if (!has_types && slot.golden->dtype != slot.actual->dtype && u > 0x1p-24) return false;
    const double allowed = (input + kRoundoffs * u) * *terms;
    const double root = std::sqrt(static_cast<double>(slot.metrics->count));
    if (slot.metrics->rmse * root > allowed || slot.metrics->max_abs * root > kPeak * allowed) return false;
    has_one = true;
  }
  return has_one;
}

void CancelledTensors::add(const OperatorComparison& op, const SlotComparison& slot) {
  if (!slot.metrics || slot.metrics->max_abs == 0) return;
  if (slot.sharded == nullptr) {
    const auto& [count, golden, actual] =
        std::tuple(slot.metrics->count, slot.metrics->max_abs_golden, slot.metrics->max_abs_actual);
    by_golden_.emplace(golden, Peak{actual, count});
    by_actual_.emplace(actual, Peak{golden, count});
    if (std::isfinite(slot.metrics->rmse))
      norms_.emplace(std::pair(count, slot.metrics->rmse), slot.metrics->actual_norm);
    return;
  }
  if (const auto whole = fingerprint_of(whole_of(slot))) {
    double& error = wholes_[{whole->sum, whole->count}];
    error = std::max(error, slot.metrics->max_abs);
  }
  if (slot.sharded->runs.empty()) return;  // the other run has one rank
  const dump::OperatorRun& run = whole_run_of(op, slot);
  if (auto tensor = read_tensor(slot))
    averages_.add(std::to_string(run.step) + " " + run.name + " " + slot_name(slot), run.rank,
                  std::move(*tensor));
}

bool CancelledTensors::has_norms(const math::Metrics& metrics) const {
  constexpr double kSumRounding = 1e-9;  // relative, of sums of squares in another order
  const auto first = norms_.lower_bound({metrics.count, metrics.rmse * (1 - kSumRounding)}),
             last = norms_.upper_bound({metrics.count, metrics.rmse * (1 + kSumRounding)});
  return metrics.rmse > 0 && std::any_of(first, last, [&](const auto& known) {
           return std::abs(known.second - metrics.actual_norm) <= kSumRounding * known.second;
         });
}

// `dtype`: of the other run's tensor.
bool CancelledTensors::has(const Peaks& peaks, std::uint64_t count, double one, double other,
                           model::DType dtype) {
  const double u = roundoff(dtype) > 0x1p-24 ? roundoff(dtype) : 0;
  const auto [first, last] = peaks.equal_range(one);
  return std::any_of(first, last, [&](const auto& known) {
    const Peak& peak = known.second;
    // Numbers of 16 bits are few: two tensors may have the same ones by chance.
    const bool may_be_part = u == 0 && count < peak.count;
    return (count == peak.count || may_be_part) && std::abs(peak.other - other) <= u * std::abs(peak.other);
  });
}

bool CancelledTensors::contain(const OperatorComparison& op, const SlotComparison& slot) const {
  if (!slot.metrics) return false;
  if (slot.sharded == nullptr) {
    const math::Metrics& metrics = *slot.metrics;
    return has(by_golden_, metrics.count, metrics.max_abs_golden, metrics.max_abs_actual,
               slot.actual->dtype) ||
           has(by_actual_, metrics.count, metrics.max_abs_actual, metrics.max_abs_golden,
               slot.golden->dtype) ||
           has_norms(metrics);
  }
  if (wholes_.empty() || slot.verdict == Verdict::match) return false;
  const auto whole = fingerprint_of(whole_of(slot));
  const auto known = whole ? wholes_.find({whole->sum, whole->count}) : wholes_.end();
  if (known != wholes_.end()) return slot.metrics->max_abs <= RankAverages::kLargerError * known->second;
  if (slot.sharded->runs.empty() || averages_.is_empty()) return false;
  const auto tensor = read_tensor(slot);
  return tensor && averages_.contain(whole_run_of(op, slot).rank, *tensor);
}

}  // namespace opdump::compare
