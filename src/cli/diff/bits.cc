#include "cli/diff/bits.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/facts/arguments.h"
#include "compare/names.h"
#include "model/operator_traits.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kDigest = "XXH128";

using Place = std::pair<std::int64_t, std::uint32_t>;  // step, rank
// The executions of each step of a rank, in order.
using Places = std::map<Place, std::vector<std::size_t>>;

Places list_places(const dump::Runs& runs) {
  Places places;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& section = runs.section_of(i);
    places[{section.step, section.rank}].push_back(i);
  }
  return places;
}

std::string value_of(const dump::SlotStatistics::Columns& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &dump::SlotStatistics::Columns::value_type::first);
  return found == columns.end() ? std::string() : found->second;
}

bool are_same(const dump::Slot& first, const dump::Slot& second) {
  if (first.dtype != second.dtype || first.shape != second.shape) return false;
  const auto columns = first.statistics.columns(), others = second.statistics.columns();
  const std::string digest = value_of(columns, kDigest), other = value_of(others, kDigest);
  return digest.empty() || other.empty() ? columns == others : digest == other;
}

// The first slot that differs, an input if there is one; null if none does.
const dump::Slot* find_different(const dump::OperatorRun& first, const dump::OperatorRun& second) {
  for (const dump::Slot& slot : first.slots) {
    if (!slot.has_data()) continue;
    const auto other = std::ranges::find_if(second.slots, [&](const dump::Slot& candidate) {
      return candidate.side == slot.side && candidate.index == slot.index;
    });
    if (other == second.slots.end() || !other->has_data() || !are_same(slot, *other)) return &slot;
  }
  return nullptr;
}

Parting describe(const dump::OperatorRun& run) {
  Parting parting{.step = run.step, .rank = run.rank, .op = compare::operator_name(run), .type = run.type};
  parting.is_random = model::has_trait(run.type, model::Trait::random);
  if (run.op != nullptr && !run.op->source_file.empty())
    parting.source = run.op->source_file + ":" + std::to_string(run.op->source_line);
  if (run.form != nullptr) parting.state = run.form->state;
  return parting;
}

bool counts(const dump::OperatorRun& run) { return std::ranges::any_of(run.slots, &dump::Slot::has_data); }

// Looks for what an operator of the first run reads among what those of its type read in the second.
void find_elsewhere(const dump::OperatorRun& run, const dump::Slot& slot, const dump::Runs& second,
                    Parting& parting) {
  for (std::size_t i = 0; i < second.size(); ++i) {
    if (second.section_of(i).rank != run.rank || second.without_slots(i).type != run.type) continue;
    const dump::OperatorRun other = second[i];
    for (const dump::Slot& candidate : other.slots) {
      if (candidate.side != slot.side || candidate.index != slot.index || !candidate.has_data()) continue;
      if (!are_same(slot, candidate)) continue;
      parting.other_step = other.step;
      parting.other_op = compare::operator_name(other);
      if (other.step == run.step) return;
    }
  }
}

class StepComparison {
 public:
  StepComparison(const dump::Runs& first, const std::vector<std::size_t>& ours, const dump::Runs& second,
                 const std::vector<std::size_t>& theirs)
      : first_(first), ours_(ours), second_(second), theirs_(theirs) {
    for (const std::size_t i : theirs) by_name_.emplace(second.without_slots(i).name, i);
  }

  std::optional<Parting> find(std::uint64_t& tensors) {
    for (const std::size_t i : ours_) {
      const dump::OperatorRun run = first_[i];
      const auto other = by_name_.find(run.name);
      if (other == by_name_.end()) {
        if (counts(run) && !compare::runs_ahead(run)) return describe(run);
        continue;
      }
      if (auto parting = compare(run, second_[other->second])) return parting;
      tensors += static_cast<std::uint64_t>(std::ranges::count_if(run.slots, &dump::Slot::has_data));
      by_name_.erase(other);
    }
    return find_additional();
  }

 private:
  std::optional<Parting> compare(const dump::OperatorRun& run, const dump::OperatorRun& other) const {
    const dump::Slot* const slot = find_different(run, other);
    if (slot == nullptr) return std::nullopt;
    Parting parting = describe(run);
    parting.slot = compare::slot_name(*slot);
    parting.same_inputs = slot->side == model::Side::output;
    if (const auto arguments = compare::find_argument_difference(
            run, other, {.golden = "in the first run", .actual = "in the second"});
        arguments && parting.same_inputs)
      parting.arguments = arguments->text;
    if (other.form != nullptr) parting.other_state = other.form->state;
    if (!parting.same_inputs) find_elsewhere(run, *slot, second_, parting);
    return parting;
  }
  std::optional<Parting> find_additional() const {
    for (const std::size_t i : theirs_) {
      if (!by_name_.contains(second_.without_slots(i).name)) continue;
      const dump::OperatorRun run = second_[i];
      if (!counts(run) || compare::runs_ahead(run)) continue;
      Parting parting = describe(run);
      parting.only_in_second = true;
      return parting;
    }
    return std::nullopt;
  }

  const dump::Runs& first_;
  const std::vector<std::size_t>& ours_;
  const dump::Runs& second_;
  const std::vector<std::size_t>& theirs_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

// What ran after the last step belongs to none.
bool is_tail(const dump::DumpSet& dump, const Place& place) {
  const auto status = dump.statuses().find(place.second);
  return status != dump.statuses().end() && status->second.tail_step == place.first;
}

}  // namespace

std::string digest_of(const dump::Slot& slot) { return value_of(slot.statistics.columns(), kDigest); }

BitComparison compare_bits(const dump::DumpSet& first, const dump::DumpSet& second) {
  const Places ours = list_places(first.runs()), theirs = list_places(second.runs());
  BitComparison result;
  std::set<std::int64_t> common, single;
  for (const auto& [place, indices] : ours)
    if (!is_tail(first, place)) (theirs.contains(place) ? common : single).insert(place.first);
  for (const auto& [place, indices] : theirs)
    if (!ours.contains(place) && !is_tail(second, place)) single.insert(place.first);
  result.steps = static_cast<std::int64_t>(common.size());
  result.only_in_one = static_cast<std::int64_t>(single.size());
  for (const auto& [place, indices] : ours) {
    const auto other = theirs.find(place);
    if (other == theirs.end()) continue;
    StepComparison step(first.runs(), indices, second.runs(), other->second);
    result.first = step.find(result.tensors);
    if (result.first) break;
  }
  return result;
}

}  // namespace opdump::cli
