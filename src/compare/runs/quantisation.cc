#include "compare/runs/quantisation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/text/text.h"
#include "compare/across/pair_across.h"
#include "compare/key_slots.h"
#include "compare/pairing/pair_slots.h"
#include "math/stats/stats.h"

namespace opdump::compare {
namespace {

using dump::Runs;
using dump::Slot;

constexpr std::uint32_t kNone = OperatorPair::kNone;
// What is still quantisation: steps, as root mean square and of one element; or else the relative L2 distance
// and how far above that of the inputs, because the step of a result is that of the operator that quantises
// it next.
constexpr double kSteps = 2, kMostSteps = 32, kDistance = 0.1, kGrowth = 4;

bool quantises(std::string_view type) { return type == "QuantizeLinear" || type == "DynamicQuantizeLinear"; }
bool dequantises(std::string_view type) { return type == "DequantizeLinear"; }

bool is_quantised(const Runs& runs) {
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (const std::string type = runs.without_slots(i).type; quantises(type) || dequantises(type))
      return true;
  return QuantisedIntegers::find_first(runs).has_value();  // an engine may leave nothing else
}

// The largest scale.
std::optional<double> scale_in(const Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor || !model::is_floating(tensor->view().dtype)) return std::nullopt;
  const double scale = math::finish(math::partial_stats(tensor->view(), {.extremes = true})).max;
  return scale > 0 && std::isfinite(scale) ? std::optional(scale) : std::nullopt;
}

bool is_off(const SlotComparison& slot) {
  return slot.verdict == Verdict::own_error || slot.verdict == Verdict::inherited ||
         slot.verdict == Verdict::input_differs;
}

}  // namespace

std::optional<Quantisation> Quantisation::find(const Runs& golden, const Runs& actual) {
  const bool is_golden = is_quantised(golden);
  if (is_golden == is_quantised(actual)) return std::nullopt;
  Quantisation found(golden, actual, is_golden);
  found.read_steps();
  return found;
}

void Quantisation::read_steps() {
  for (std::uint32_t i = 0; i < quantised().size(); ++i) {
    const std::string type = quantised().without_slots(i).type;
    if (!quantises(type) && !dequantises(type)) continue;
    const model::Side real = quantises(type) ? model::Side::input : model::Side::output;
    std::optional<Content> content;
    std::optional<double> scale;
    for (const Slot& slot : quantised().slots(i)) {
      if (slot.side == real && slot.index == 0) content = content_of(slot);
      if (slot.side == model::Side::input && slot.index == 1) scale = scale_in(slot);
    }
    if (!content || !scale) continue;
    double& step = steps_[*content];
    step = std::max(step, *scale);
  }
}

// Places of pairs without a partner, by their first results; of the quantised side only dequantisations.
std::map<Quantisation::Content, std::size_t> Quantisation::open_results(
    const std::vector<OperatorPair>& pairs, bool of_quantised) const {
  std::map<Content, std::size_t> results;
  const bool of_golden = of_quantised == is_golden_;
  const Runs& runs = of_golden ? golden_ : actual_;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::uint32_t index = of_golden ? pairs[i].golden : pairs[i].actual;
    if (index == kNone || (pairs[i].golden != kNone && pairs[i].actual != kNone)) continue;
    const bool is_idle = pairs[i].fusion == Fusion::moves || pairs[i].fusion == Fusion::makes ||
                         pairs[i].fusion == Fusion::added;
    if (is_idle && !of_quantised) continue;
    if (of_quantised && !dequantises(runs.without_slots(index).type)) continue;
    for (const Slot& slot : runs.slots(index))
      if (slot.side == model::Side::output && slot.index == 0)
        if (const auto content = content_of(slot)) results.emplace(*content, i);
  }
  return results;
}

// Operators that quantise, by what they give.
std::map<Quantisation::Content, std::uint32_t> Quantisation::quantisers() const {
  std::map<Content, std::uint32_t> found;
  for (std::uint32_t i = 0; i < quantised().size(); ++i) {
    if (!quantises(quantised().without_slots(i).type)) continue;
    for (const Slot& slot : quantised().slots(i))
      if (slot.side == model::Side::output && slot.index == 0)
        if (const auto content = content_of(slot)) found.emplace(*content, i);
  }
  return found;
}

// The partner of an operator that quantising does, too: what quantises and what dequantises after it.
void Quantisation::pair_with(OperatorPair& pair, std::uint32_t dequantiser,
                             const std::map<Content, std::uint32_t>& quantisers) const {
  std::uint32_t first = dequantiser;
  for (const Slot& slot : quantised().slots(dequantiser)) {
    if (slot.side != model::Side::input || slot.index != 0) continue;
    const auto content = content_of(slot);
    if (const auto found = content ? quantisers.find(*content) : quantisers.end(); found != quantisers.end())
      first = found->second;
  }
  (is_golden_ ? pair.golden : pair.actual) = dequantiser;
  (is_golden_ ? pair.golden_first : pair.actual_first) = first;
  pair.fusion = Fusion::quantised;
  pair.paired_by = PairedBy::data_flow;
}

void Quantisation::arrange(std::vector<OperatorPair>& pairs, bool is_across) const {
  if (!is_across) integers_.pair_by_names(pairs);
  const auto missing = open_results(pairs, false);
  const auto dequantised = missing.empty() ? missing : open_results(pairs, true);
  const auto made_by = dequantised.empty() ? std::map<Content, std::uint32_t>() : quantisers();
  std::vector<bool> is_gone(pairs.size());
  for (std::size_t i = 0; i < pairs.size() && !dequantised.empty(); ++i) {
    if (pairs[i].golden == kNone || pairs[i].actual == kNone) continue;
    const dump::OperatorRun golden = join_runs(golden_, pairs[i].golden_first, pairs[i].golden);
    const dump::OperatorRun actual = join_runs(actual_, pairs[i].actual_first, pairs[i].actual);
    for (const SlotPair& slots :
         is_across ? pair_slots_across(golden, actual, false) : pair_slots(golden, actual, false)) {
      if (slots.golden == nullptr || slots.actual == nullptr || slots.golden->side == model::Side::output)
        continue;
      const auto mine = content_of(is_golden_ ? *slots.actual : *slots.golden);
      const auto theirs = content_of(is_golden_ ? *slots.golden : *slots.actual);
      if (!mine || !theirs) continue;
      const auto lost = missing.find(*mine), found = dequantised.find(*theirs);
      if (lost == missing.end() || found == dequantised.end() || is_gone[found->second]) continue;
      OperatorPair &pair = pairs[lost->second], &other = pairs[found->second];
      if (pair.golden != kNone && pair.actual != kNone) continue;
      pair_with(pair, is_golden_ ? other.golden : other.actual, made_by);
      is_gone[found->second] = true;
    }
  }
  std::size_t at = 0;
  std::erase_if(pairs, [&](const OperatorPair&) { return static_cast<bool>(is_gone[at++]); });
  for (OperatorPair& pair : pairs) {
    const std::uint32_t index = is_golden_ ? pair.golden : pair.actual;
    const std::uint32_t partner = is_golden_ ? pair.actual : pair.golden;
    if (index == kNone || partner != kNone) continue;
    const dump::OperatorRun run = quantised().without_slots(index);
    if (quantises(run.type) || dequantises(run.type) || QuantisedIntegers::serves(run))
      pair.fusion = Fusion::quantises;
  }
}

void Quantisation::add_steps(OperatorComparison& op) const {
  integers_.pair_operands(op);
  for (SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr) continue;
    const auto content = content_of(is_golden_ ? *slot.golden : *slot.actual);
    const auto step = content ? steps_.find(*content) : steps_.end();
    slot.quantisation_step = step == steps_.end() ? 0 : step->second;
    if (!mixes_integers(slot)) continue;
    const auto levels =
        is_golden_ ? integers_.find(*op.golden, *slot.golden) : integers_.find(*op.actual, *slot.actual);
    slot.is_quantised = true;
    slot.quantisation_step = levels ? levels->scale : 0;
    slot.quantisation_zero = levels ? levels->zero : 0;
  }
  op.is_quantised = true;
}

std::string Quantisation::note() const {
  return std::string(is_golden_ ? "golden" : "actual") +
         " is quantised: operators that quantise are left out, and differences of up to " + format_g(kSteps) +
         " steps (root mean square) are rounding";
}

bool is_quantised_input(const OperatorComparison& op, const SlotComparison& slot) {
  if (!op.is_quantised || slot.golden == nullptr || slot.actual == nullptr || slot.quantisation_step == 0)
    return false;
  return dequantises(op.golden->type) || dequantises(op.actual->type);
}

namespace {

// Whether quantising explains that a slot differs; `most` is what inputs that are off explain.
bool is_explained(const SlotComparison& slot, double most) {
  if (!slot.metrics || slot.metrics->nan_mismatch_count > 0) return false;
  const math::Metrics& metrics = *slot.metrics;
  const double step = slot.quantisation_step;
  if (metrics.rmse <= kSteps * step && metrics.max_abs <= kMostSteps * step) return true;
  // What gives an input is judged itself.
  const bool is_grown = side_of(slot) == model::Side::input || metrics.relative_l2 <= most;
  return metrics.relative_l2 <= kDistance && is_grown;
}

void make_rounding(SlotComparison& slot) {
  slot.verdict = Verdict::rounding;
  const double step = slot.quantisation_step;
  slot.reason +=
      (slot.reason.empty() ? "" : "; ") +
      (step > 0 ? "quantised: off by " + format_g(slot.metrics->rmse / step) + " steps of " + format_g(step)
                : std::string("quantised before"));
}

}  // namespace

void QuantisationJudge::excuse(OperatorComparison& op) {
  if (!op.is_quantised || !op.cause.empty()) return;
  const auto serves = [](const auto& run) { return run != nullptr && QuantisedIntegers::serves(*run); };
  double most = serves(op.golden) || serves(op.actual) ? kDistance : 0;  // they quantise weights, too
  if (!op.left_out.empty()) most = std::max(most, kGrowth * farthest_);  // what it reads is not known
  const bool is_exponential = op.run().type == "Softmax";  // the largest of its numbers say nothing
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::input && slot.metrics)
      most = std::max(
          most, kGrowth * std::max(slot.metrics->relative_l2, is_exponential ? slot.metrics->max_abs : 0));
  const auto are_explained = [&](model::Side side) {
    return std::ranges::all_of(op.slots, [&](const SlotComparison& slot) {
      return side_of(slot) != side || !is_off(slot) || is_explained(slot, most);
    });
  };
  const bool are_inputs_explained = are_explained(model::Side::input);
  // What a dequantisation stands for may be several operators: then only its result counts, in steps.
  if (!are_inputs_explained) most = 0;
  const bool stands_in =
      op.golden && op.actual && dequantises(op.golden->type) != dequantises(op.actual->type);
  const bool are_outputs_explained = are_explained(model::Side::output);
  if (!are_inputs_explained && !(stands_in && are_outputs_explained)) return;
  if (std::ranges::none_of(op.slots, is_off)) return;
  for (SlotComparison& slot : op.slots) {
    if (!is_off(slot)) continue;
    if (side_of(slot) == model::Side::input || are_outputs_explained) {
      make_rounding(slot);
      farthest_ = std::max(farthest_, slot.metrics->relative_l2);
    } else {
      slot.verdict = Verdict::own_error;
    }
  }
  op.verdict = are_outputs_explained ? Verdict::rounding : Verdict::own_error;
}

}  // namespace opdump::compare
