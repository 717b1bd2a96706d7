#include "compare/pairs/quantised/quantisation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/text/text.h"
#include "compare/facts/integer_operators.h"
#include "compare/key_slots.h"
#include "compare/measure/measure_integers.h"
#include "compare/pairs/across/pair_across.h"
#include "compare/pairs/pair_slots.h"
#include "math/stats/stats.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using dump::Runs;
using dump::Slot;

constexpr std::uint32_t kNone = OperatorPair::kNone;
bool is_quantised(const Runs& runs) {
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (const std::string type = runs.without_slots(i).type;
        model::has_trait(type, model::Trait::quantises) || model::has_trait(type, model::Trait::dequantises))
      return true;
  return find_integer_operator(runs).has_value();  // an engine may leave nothing else
}

// The largest scale.
std::optional<double> scale_in(const Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor || !model::is_floating(tensor->view().dtype)) return std::nullopt;
  const double scale = math::finish(math::partial_stats(tensor->view(), {.extremes = true})).max;
  return scale > 0 && std::isfinite(scale) ? std::optional(scale) : std::nullopt;
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
    if (!model::has_trait(type, model::Trait::quantises) &&
        !model::has_trait(type, model::Trait::dequantises))
      continue;
    const model::Side real =
        model::has_trait(type, model::Trait::quantises) ? model::Side::input : model::Side::output;
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
    if (of_quantised && !model::has_trait(runs.without_slots(index).type, model::Trait::dequantises))
      continue;
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
    if (!model::has_trait(quantised().without_slots(i).type, model::Trait::quantises)) continue;
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
    if (model::has_trait(run.type, model::Trait::quantises) ||
        model::has_trait(run.type, model::Trait::dequantises) || serves_integers(run))
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
  return model::has_trait(op.golden->type, model::Trait::dequantises) ||
         model::has_trait(op.actual->type, model::Trait::dequantises);
}

}  // namespace opdump::compare
