#include "compare/wiring/wiring.h"

#include <algorithm>

#include "compare/names.h"
#include "compare/wiring/content.h"
#include "compare/wiring/producer.h"

namespace opdump::compare {
namespace {

constexpr std::uint64_t kMostBytes = 256 << 20;  // that are read to find one operator

std::optional<std::size_t> find_by_content(const dump::Runs& runs, std::size_t reader,
                                           const dump::Slot& input) {
  const auto wanted = fingerprint_of(input);
  if (!wanted) return std::nullopt;
  std::uint64_t left = kMostBytes;
  return find_last_output(runs, reader, [&](const dump::Slot& slot) {
    if (slot.dtype != input.dtype || element_count_of(slot) != wanted->count) return false;
    const std::uint64_t bytes =
        model::element_count(*slot.shape).value_or(0) * model::dtype_info(slot.dtype).bits / 8;
    if (bytes > left) return false;
    left -= bytes;
    return fingerprint_of(slot) == wanted;
  });
}

}  // namespace

bool Wiring::is_view(std::size_t execution) const {
  for (const dump::Slot& slot : runs_.slots(execution))
    if (slot.side == model::Side::output && slot.undumped_reason == "view") return true;
  return false;
}

void Wiring::read() const {
  if (is_read_) return;
  is_read_ = true;
  for (std::uint32_t i = 0; i < runs_.size(); ++i) {
    if (runs_.operator_number(i) == 0) continue;
    const dump::Runs::Section& section = runs_.section_of(i);
    const auto [known, is_new] =
        executions_.try_emplace({section.rank, runs_.operator_number(i), section.step}, i);
    if (!is_new) known->second = kSeveral;
    first_.try_emplace({section.rank, runs_.operator_number(i)}, i);
  }
}

void Wiring::read_uses() const {
  read();
  if (std::exchange(has_read_uses_, true)) return;
  for (std::uint32_t i = 0; i < runs_.size(); ++i) {
    const auto wiring = runs_.wiring_of(i);
    if (wiring == nullptr) continue;
    for (const dump::CallWiring::Input& input : wiring->inputs) {
      const bool overwrites = input.is_overwritten && input.as() != dump::CallWiring::As::view;
      const auto add = [&](const dump::CallWiring::Maker& maker) {
        if (const auto execution = find(i, maker)) {
          uses_[{*execution, maker.output}].push_back({i, overwrites});
          return;
        }
        const dump::Runs::Section& section = runs_.section_of(i);
        std::set<Key> seen;
        Writers behind_views;
        add_writers(maker, section.rank, section.step, seen, behind_views);
        for (const std::uint32_t viewed : behind_views.executions) viewed_[viewed].push_back(i);
      };
      if (input.maker) add(*input.maker);
      for (const dump::CallWiring::Maker& maker : input.changed_by) add(maker);
    }
  }
}

std::optional<std::uint32_t> Wiring::find(std::uint32_t reader, const dump::CallWiring::Maker& maker) const {
  if (maker.number == 0) return std::nullopt;
  const dump::Runs::Section& section = runs_.section_of(reader);
  const auto found = executions_.find({section.rank, maker.number, section.step - maker.steps_before});
  return found == executions_.end() || found->second == kSeveral ? std::nullopt
                                                                 : std::optional(found->second);
}

Wiring::Recorded Wiring::recorded(std::uint32_t reader, std::uint32_t input) const {
  if (!is_recorded()) return {};
  read();
  const auto wiring = runs_.wiring_of(reader);
  const dump::CallWiring::Input* const known = wiring == nullptr ? nullptr : wiring->find(input);
  if (known == nullptr || known->as() != dump::CallWiring::As::whole) return {};
  if (known->is_outside) return {.is_known = true};
  const auto maker = known->maker ? find(reader, *known->maker) : std::nullopt;
  if (!maker) return {};
  return {.is_known = true, .maker = Output{*maker, known->maker->output}};
}

std::optional<std::size_t> Wiring::maker(std::size_t reader, const dump::Slot& input) const {
  const Recorded found = recorded(static_cast<std::uint32_t>(reader), input.index);
  if (found.is_known && !found.maker) return std::nullopt;
  // A view has elements of what another operator made, in its order or another one.
  if (found.maker && !is_view(found.maker->execution)) return found.maker->execution;
  return find_by_content(runs_, reader, input);
}

void Wiring::add_writers(const dump::CallWiring::Maker& maker, std::uint32_t rank, std::int64_t step,
                         std::set<Key>& seen, Writers& found) const {
  step -= maker.steps_before;
  const bool is_behind_a_view = !seen.empty();
  if (!seen.emplace(rank, maker.number, step).second) return;
  if (const auto known = executions_.find({rank, maker.number, step}); known != executions_.end()) {
    found.are_whole &= known->second != kSeveral;
    if (known->second != kSeveral) found.executions.push_back(known->second);
    return;
  }
  const auto listed = first_.find({rank, maker.number});
  if (listed == first_.end() || seen.size() >= kMostInARow) {
    found.are_whole = false;
    return;
  }
  // Names count calls within a step: in this one it may be another view than in the step that lists it.
  const auto wiring = runs_.wiring_in_step(listed->second, step);
  if (wiring == nullptr || !is_view(listed->second)) {
    // What a view reads is known of the step in which it is listed: what was made before need not be made
    // again.
    found.are_whole &= is_behind_a_view;
    if (is_behind_a_view) found.executions.push_back(listed->second);
    return;
  }
  for (const dump::CallWiring::Input& input : wiring->inputs) {
    if (input.maker) add_writers(*input.maker, rank, step, seen, found);
    for (const dump::CallWiring::Maker& writer : input.changed_by)
      add_writers(writer, rank, step, seen, found);
  }
}

Wiring::Writers Wiring::writers(std::uint32_t reader, std::uint32_t input) const {
  Writers found;
  if (!is_recorded()) return found;
  read();
  const auto wiring = runs_.wiring_of(reader);
  const dump::CallWiring::Input* const known = wiring == nullptr ? nullptr : wiring->find(input);
  if (known == nullptr) return found;
  const dump::Runs::Section& section = runs_.section_of(reader);
  const auto add = [&](const dump::CallWiring::Maker& writer) {
    std::set<Key> seen;
    add_writers(writer, section.rank, section.step, seen, found);
  };
  if (known->maker) add(*known->maker);
  std::ranges::for_each(known->changed_by, add);
  return found;
}

bool Wiring::add_readers(Output output, bool adds_viewers, std::set<std::uint32_t>& found) const {
  std::set<Output> seen{output};
  bool are_all = true;
  for (std::vector<Output> open{output}; !open.empty();) {
    const Output read = open.back();
    open.pop_back();
    if (const auto viewers = viewed_.find(read.execution); viewers != viewed_.end()) {
      are_all = false;
      if (!adds_viewers) return are_all;
      found.insert(viewers->second.begin(), viewers->second.end());
    }
    const auto uses = uses_.find(read);
    if (uses == uses_.end()) continue;
    for (const Use& use : uses->second) {
      if (use.overwrites) continue;
      if (!is_view(use.reader)) {
        found.insert(use.reader);
        continue;
      }
      for (const dump::Slot& slot : runs_.slots(use.reader))
        if (const Output view{use.reader, slot.index};
            slot.side == model::Side::output && seen.insert(view).second)
          open.push_back(view);
    }
  }
  return are_all;
}

std::optional<std::vector<std::uint32_t>> Wiring::readers(Output output) const {
  if (!is_recorded()) return std::nullopt;
  read_uses();
  std::set<std::uint32_t> found;
  if (!add_readers(output, false, found) || found.empty()) return std::nullopt;
  return std::vector(found.begin(), found.end());
}

std::vector<std::uint32_t> Wiring::likely_readers(Output output) const {
  std::set<std::uint32_t> found;
  if (!is_recorded()) return {};
  read_uses();
  add_readers(output, true, found);
  return {found.begin(), found.end()};
}

std::vector<std::uint32_t> Wiring::users(Output output) const {
  std::vector<std::uint32_t> found;
  if (!is_recorded()) return found;
  read_uses();
  if (const auto uses = uses_.find(output); uses != uses_.end())
    for (const Use& use : uses->second)
      if (!use.overwrites) found.push_back(use.reader);
  if (const auto viewers = viewed_.find(output.execution); viewers != viewed_.end())
    found.insert(found.end(), viewers->second.begin(), viewers->second.end());
  return found;
}

bool Wiring::is_overwritten_unread(std::uint32_t execution) const {
  if (!is_recorded()) return false;
  read_uses();
  return is_dead(execution, 0);
}

// Each of its outputs is replaced, or what reads it before is dead, too; or nothing reads it beside one that
// is.
bool Wiring::is_dead(std::uint32_t execution, unsigned depth) const {
  if (const auto known = dead_.find(execution); known != dead_.end()) return known->second;
  if (depth == kMostInARow) return false;
  dead_.emplace(execution, false);  // what a file says of makers may go in circles
  bool is_dead_here = !viewed_.contains(execution), has_dead_output = false;
  for (const dump::Slot& slot : runs_.slots(execution)) {
    if (slot.side != model::Side::output || !is_dead_here) continue;
    const auto uses = uses_.find({execution, slot.index});
    if (uses == uses_.end()) continue;
    // Memory may leave the engine through a view that no operator reads: that alone replaces nothing.
    has_dead_output |= std::ranges::any_of(
        uses->second, [&](const Use& use) { return use.overwrites || hands_on(execution, use.reader); });
    is_dead_here = std::ranges::all_of(uses->second, [&](const Use& use) {
      return use.overwrites || is_unread_view(use.reader) ||
             (hands_on(execution, use.reader) && is_dead(use.reader, depth + 1));
    });
  }
  return dead_[execution] = has_dead_output && is_dead_here;
}

// Whether `reader` changes what an execution made, or makes something of it before a network is trained: the
// steps of a training replace what they read, too.
bool Wiring::hands_on(std::uint32_t execution, std::uint32_t reader) const {
  const dump::OperatorRun of = runs_.without_slots(execution), by = runs_.without_slots(reader);
  return by.type.ends_with('_') ||
         (phase_of(of) == model::Phase::forward && module_of(of) == "Default" &&
          phase_of(by) == model::Phase::forward && module_of(by) == "Default" && !is_view(reader));
}

bool Wiring::is_unread_view(std::uint32_t execution) const {
  if (!is_view(execution)) return false;
  std::set<std::uint32_t> readers;
  for (const dump::Slot& slot : runs_.slots(execution))
    if (slot.side == model::Side::output && !add_readers({execution, slot.index}, false, readers))
      return false;
  return readers.empty();
}

}  // namespace opdump::compare
