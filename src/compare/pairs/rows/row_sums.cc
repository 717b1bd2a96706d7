#include "compare/pairs/rows/row_sums.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text/json.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/wiring/content.h"
#include "dump/read/dump_set.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// An argument of a call that is a whole number; nothing if it has none of that name.
std::optional<std::int64_t> argument_of(const dump::OperatorRun& run, const char* name) {
  if (run.form == nullptr) return std::nullopt;
  const auto arguments = parse_ordered_json(run.form->arguments);
  if (!arguments.is_object()) return std::nullopt;
  const auto found = arguments.find(name);
  if (found == arguments.end()) return std::nullopt;
  const auto& value = found->is_array() && found->size() == 1 ? found->front() : *found;
  return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

// The bytes of a tensor that is small, as statistics of channels are.
std::optional<std::vector<std::byte>> read_small(const dump::Slot& slot) {
  constexpr std::uint64_t kMost = 1 << 16;  // elements
  if (!slot.has_data() || !slot.shape || element_count_of(slot) > kMost) return std::nullopt;
  auto tensor = dump::StoredTensor::read(slot);
  if (!tensor || !tensor->straighten()) return std::nullopt;
  const model::TensorView view = tensor->view();
  return std::vector(view.data, view.data + view.byte_count());
}

}  // namespace

RowSums::RowSums(const PairedRuns& runs) : runs_(runs) {
  golden_.assign(runs.runs(true).size(), kNone);
  actual_.assign(runs.runs(false).size(), kNone);
  sources_.assign(runs.pairs().size(), kNone);
}

std::uint32_t RowSums::find_source(bool is_golden, std::uint32_t execution, std::uint32_t input) const {
  std::uint32_t source = kNone;
  for (const std::uint32_t writer : runs_.wiring(is_golden).writers(execution, input).executions)
    source = std::min(source, (is_golden ? golden_ : actual_)[writer]);
  return source;
}

std::uint32_t RowSums::note_inputs(bool is_golden, std::uint32_t execution, std::size_t place) {
  const auto wiring = runs_.runs(is_golden).wiring_of(execution);
  std::uint32_t source = kNone;
  if (wiring == nullptr) return source;
  for (const dump::CallWiring::Input& input : wiring->inputs) {
    if (input.is_overwritten) continue;
    const std::uint32_t of_input = find_source(is_golden, execution, input.index);
    if (of_input != kNone) inputs_.try_emplace({place, input.index}, of_input);
    source = std::min(source, of_input);
  }
  return source;
}

// An output has other rows.
bool RowSums::has_rows(std::size_t place, const RowAxisMap& map) const {
  const std::vector<ShapedSlot> slots = runs_.slots(place);
  return std::ranges::any_of(slots, [&](const ShapedSlot& slot) {
    const auto axes = find_parts(map, slot.golden, slot.actual);
    return slot.side == model::Side::output && axes && axes->has_axis.front();
  });
}

// Gradients of rows do not follow from the sum over them, the loss, and what the micro-batches have added up
// is the same as the sum of the batch.
std::uint32_t RowSums::source_in_batches(std::size_t place, const RowAxisMap* map, std::uint32_t source,
                                         bool is_update) {
  const OperatorPair& pair = runs_.pairs()[place];
  const auto run_at = [&](std::size_t at) {
    const OperatorPair& of = runs_.pairs()[at];
    return of.golden != kNone ? runs_.runs(true).without_slots(of.golden)
                              : runs_.runs(false).without_slots(of.actual);
  };
  const auto phase_at = [&](std::size_t at) { return phase_of(run_at(at)); };
  // A loop may update weights itself.
  const bool may_update = phase_at(place) == model::Phase::optimizer ||
                          (phase_at(place) == model::Phase::forward && is_outside_modules(run_at(place)));
  if (!pair.is_whole() && !may_update) return source;
  if (is_update || !pair.is_whole()) {
    const auto last = inputs_.upper_bound({place, UINT32_MAX});
    for (auto input = inputs_.lower_bound({place, 0}); input != last;)
      input = phase_at(input->second) == model::Phase::backward ? inputs_.erase(input) : std::next(input);
    return source != kNone && phase_at(source) == model::Phase::backward ? kNone : source;
  }
  const bool has_map = map != nullptr && has_rows(place, *map);
  if (phase_at(place) != model::Phase::forward) return has_map ? kNone : source;
  // Rows of a result that has something of other rows.
  const bool mixes = has_map && (source != kNone || puts_together(place, *map));
  if (mixes)
    first_.try_emplace(runs_.runs(true).section_of(pair.golden).rank,
                       source != kNone ? source : static_cast<std::uint32_t>(place));
  return source;
}

void RowSums::add(std::size_t place, const RowAxisMap* map, StepKind kind) {
  const OperatorPair& pair = runs_.pairs()[place];
  const bool in_golden = pair.golden != kNone, in_actual = pair.actual != kNone;
  const dump::OperatorRun run =
      in_golden ? runs_.runs(true).without_slots(pair.golden) : runs_.runs(false).without_slots(pair.actual);
  std::uint32_t source = kNone;
  if (in_golden) source = std::min(source, note_inputs(true, pair.golden, place));
  if (in_actual) source = std::min(source, note_inputs(false, pair.actual, place));
  const bool is_forward = phase_of(run) == model::Phase::forward;
  const auto first = first_.find(run.rank);
  if (!is_forward && first != first_.end()) {
    source = std::min(source, first->second);
    if (phase_of(run) == model::Phase::optimizer) updated_.try_emplace(run.rank, run.step, first->second);
  }
  if (const auto updated = updated_.find(run.rank);
      updated != updated_.end() && run.step > updated->second.first)
    source = std::min(source, updated->second.second);
  const bool is_of_batches = kind.is_complete && !first_.contains(run.rank);
  if (is_of_batches) source = source_in_batches(place, map, source, kind.is_update);
  if (source == kNone && map != nullptr && pair.is_whole() && puts_together(place, *map)) {
    source = static_cast<std::uint32_t>(place);
    if (kind_of(run.type).role == OperatorRole::computes && !is_of_batches)
      first_.try_emplace(run.rank, source);
  }
  sources_[place] = source;
  if (in_golden) golden_[pair.golden] = source;
  if (in_actual) actual_[pair.actual] = source;
}

std::optional<std::size_t> RowSums::source_of(std::size_t place) const {
  return sources_[place] == kNone ? std::nullopt : std::optional<std::size_t>(sources_[place]);
}

std::optional<std::size_t> RowSums::source_of_input(std::size_t place, std::uint32_t input) const {
  if (const auto found = inputs_.find({place, input}); found != inputs_.end()) return found->second;
  // Gradients, and what an update has changed, need no wiring.
  const auto own = source_of(place);
  return own && *own != place && !has_left_out_input(place) ? own : std::nullopt;
}

bool RowSums::has_left_out_input(std::size_t place) const {
  const auto first = inputs_.lower_bound({place, 0});
  return first != inputs_.end() && first->first.first == place;
}

// Whether an output is an input as it was, as the statistics of a batch norm that does not train.
bool RowSums::hands_on(std::size_t place, std::uint32_t output) const {
  const OperatorPair& pair = runs_.pairs()[place];
  return std::ranges::all_of(std::array{true, false}, [&](bool is_golden) {
    const std::uint32_t execution = is_golden ? pair.golden : pair.actual;
    std::optional<std::vector<std::byte>> made;
    for (const dump::Slot& slot : runs_.runs(is_golden).slots(execution))
      if (slot.side == model::Side::output && slot.index == output) made = read_small(slot);
    bool is_input = false;
    for (const dump::Slot& slot : runs_.runs(is_golden).slots(execution))
      is_input |= !is_input && made && slot.side == model::Side::input && read_small(slot) == made;
    return is_input;
  });
}

// An output lacks an axis that an input has.
bool RowSums::puts_together(std::size_t place, const RowAxisMap& map) const {
  const OperatorPair& pair = runs_.pairs()[place];
  const dump::OperatorRun run = runs_.runs(true).without_slots(pair.golden);
  const OperatorRole role = kind_of(run.type).role;
  const bool is_random = model::has_trait(run.type, model::Trait::random) && role != OperatorRole::makes;
  if (is_random && runs_.has_other_output(place)) return true;
  // What puts elements together as they are, to a tensor of one size in both runs, has all of them.
  if (model::has_trait(run.type, model::Trait::chooses) && !runs_.has_other_output(place)) return false;
  std::vector<bool> read(map.axes.size()), made(map.axes.size(), true);
  for (const ShapedSlot& slot : runs_.slots(place)) {
    const auto axes = find_parts(map, slot.golden, slot.actual);
    if (!axes || model::element_count(slot.golden).value_or(0) == 0) continue;
    for (std::size_t axis = 0; axis < read.size(); ++axis) {
      if (slot.side == model::Side::input) read[axis] = read[axis] || axes->has_axis[axis];
      if (slot.side == model::Side::output)
        made[axis] = made[axis] && (axes->has_axis[axis] || hands_on(place, slot.index));
    }
  }
  for (std::size_t axis = 0; axis < read.size(); ++axis) {
    if (!read[axis] || made[axis] || map.is_whole(axis)) continue;
    // What pads a row counts nothing in a sum over its positions, or should not.
    const bool moves = role == OperatorRole::moves;
    if (moves ? !chooses_same(place, map, axis) : map.axes[axis].name == "row") return true;
  }
  return false;
}

// It takes one place of the axis, and in actual the one that corresponds.
bool RowSums::chooses_same(std::size_t place, const RowAxisMap& map, std::size_t axis) const {
  const OperatorPair& pair = runs_.pairs()[place];
  const auto place_in = [&](bool is_golden) -> std::optional<std::int64_t> {
    const dump::OperatorRun run = runs_.runs(is_golden).without_slots(is_golden ? pair.golden : pair.actual);
    auto index = argument_of(run, "index");
    if (!index) index = argument_of(run, "start");
    if (!index) return std::nullopt;
    const std::int64_t count = is_golden ? map.axes[axis].golden : map.axes[axis].actual;
    return *index < 0 ? *index + count : *index;
  };
  const auto golden = place_in(true), actual = place_in(false);
  return golden && actual && map.actual_place(axis, *golden) == actual;
}

}  // namespace opdump::compare
