#include "compare/rules/accuse/views.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "compare/facts/arguments.h"
#include "compare/names.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

bool is_view(const dump::Slot* slot) { return slot != nullptr && slot->undumped_reason == "view"; }

std::string describe(const dump::OperatorRun& golden, const dump::OperatorRun& actual) {
  const auto difference = find_argument_difference(golden, actual);
  if (!difference) return "";
  const std::string source = golden.op != nullptr ? model::format_source(*golden.op) : "";
  return one_line(operator_name(golden)) + (source.empty() ? "" : " at " + source) +
         " has other arguments: " + difference->text;
}

// What an operator was called with in a step that need not list it, and whether that was new then.
struct ViewCall {
  std::shared_ptr<const dump::CallForm> form = nullptr;
  bool is_new = false;
};
ViewCall call_in(const dump::Runs& runs, std::uint32_t index, std::int64_t step) {
  ViewCall found;
  for (dump::LoggedForm& call : runs.calls_of(index)) {
    if (call.step > step) break;
    found = {std::make_shared<const dump::CallForm>(std::move(call.form)), call.step == step};
  }
  return found;
}

}  // namespace

std::string describe_other_view(const OperatorComparison& op) {
  if (op.golden == nullptr || op.actual == nullptr || op.verdict != Verdict::skipped) return "";
  if (!op.shards.empty() || op.is_across) return "";  // where views differ rightly
  if (std::ranges::none_of(op.slots, [](const SlotComparison& slot) { return is_view(slot.golden); }))
    return "";
  return describe(*op.golden, *op.actual);
}

std::string find_view_before(const dump::Runs& golden, const dump::Runs& actual,
                             std::span<const OperatorPair> pairs, std::size_t place) {
  const auto section_of = [&](const OperatorPair& pair) {
    return pair.golden != OperatorPair::kNone ? golden.section_of(pair.golden)
                                              : actual.section_of(pair.actual);
  };
  const dump::Runs::Section here = section_of(pairs[place]);
  std::string shapes;  // of the first one that only has a shape
  while (place-- > 0) {
    const OperatorPair& pair = pairs[place];
    const dump::Runs::Section section = section_of(pair);
    if (section.rank != here.rank || section.step != here.step) break;
    if (!pair.is_whole()) continue;
    const dump::OperatorRun of_golden = golden[pair.golden];
    const auto is_of_view = [](const dump::Slot& slot) { return is_view(&slot); };
    if (std::ranges::none_of(of_golden.slots, is_of_view)) continue;
    std::string text = describe(of_golden, actual[pair.actual]);
    if (text.empty()) continue;
    if (!model::has_trait(of_golden.type, model::Trait::reshapes)) return text;
    shapes = std::move(text);
  }
  return shapes;
}

std::string find_other_view(const dump::Runs& golden, const dump::Runs& actual,
                            std::span<const OperatorPair> pairs, const OperatorComparison& op) {
  const auto is_in_place = [&](const dump::OperatorRun& run) {
    return run.rank == op.run().rank && run.step < op.run().step && module_of(run) == module_of(op.run());
  };
  std::string found;
  for (const OperatorPair& pair : pairs) {
    if (!pair.is_whole()) continue;
    dump::OperatorRun view = golden.without_slots(pair.golden);
    if (!is_in_place(view)) continue;
    if (operator_name(view) == operator_name(op.run())) break;
    std::vector<dump::Slot> slots = golden[pair.golden].slots;
    if (std::ranges::none_of(slots, [](const dump::Slot& slot) { return is_view(&slot); })) continue;
    dump::OperatorRun other = actual.without_slots(pair.actual);
    ViewCall of_golden = call_in(golden, pair.golden, op.run().step);
    ViewCall of_actual = call_in(actual, pair.actual, op.run().step);
    if (!of_golden.is_new && !of_actual.is_new) continue;
    view.form = std::move(of_golden.form);
    other.form = std::move(of_actual.form);
    std::string text = describe(view, other);
    if (!text.empty() && (found.empty() || !model::has_trait(view.type, model::Trait::reshapes)))
      found = std::move(text);
  }
  return found;
}

}  // namespace opdump::compare
