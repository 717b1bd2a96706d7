#include "compare/rules/accuse/origin.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/wiring/content.h"
#include "compare/wiring/producer.h"
#include "math/stats/stats.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// Returns the number of a tensor with one element.
std::optional<double> single_number(const dump::Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor || tensor->view().element_count() != 1 || !math::has_statistics(tensor->view().dtype))
    return std::nullopt;
  return math::finish(math::partial_stats(tensor->view(), {.extremes = true})).max;
}

bool has_one_value(const dump::Slot& slot) {
  const std::vector<std::uint64_t> elements = elements_of(slot);
  return std::ranges::adjacent_find(elements, std::not_equal_to<>()) == elements.end();
}

std::vector<dump::Slot> outputs_of(const dump::Runs& runs, std::size_t run) {
  std::vector<dump::Slot> outputs;
  for (const dump::Slot& slot : runs.slots(run))
    if (slot.side == model::Side::output) outputs.push_back(slot);
  return outputs;
}

// Whether most elements that are not golden's are of one of these.
bool is_part_of(const SlotComparison& slot, const std::vector<dump::Slot>& outputs) {
  const std::vector<std::uint64_t> elements =
      other_elements(elements_of(*slot.actual), elements_of(*slot.golden));
  std::unordered_set<std::uint64_t> samples;
  for (const std::size_t i : sample_places(elements.size())) samples.insert(elements[i]);
  return std::ranges::any_of(outputs, [&](const dump::Slot& output) { return has_most(output, samples); });
}

// An input that differs, which both runs have.
bool is_open_input(const SlotComparison& slot) {
  return side_of(slot) == model::Side::input && slot.golden != nullptr && slot.actual != nullptr &&
         (slot.verdict == Verdict::input_differs || slot.verdict == Verdict::not_comparable);
}

// Null unless both runs have the operator.
const OperatorPair* find_reader(const OperatorComparison& op, const Wiring& golden, const Wiring& actual,
                                std::span<const OperatorPair> pairs) {
  if (op.golden == nullptr || op.actual == nullptr) return nullptr;
  const auto in_golden = find_execution(golden.runs(), *op.golden),
             in_actual = find_execution(actual.runs(), *op.actual);
  const auto is_reader = [&](const OperatorPair& pair) {
    return pair.golden == in_golden && pair.actual == in_actual;
  };
  const auto reader = in_golden && in_actual ? std::ranges::find_if(pairs, is_reader) : pairs.end();
  return reader == pairs.end() ? nullptr : &*reader;
}

// The operator of the same step that computed an input, seen through those that only move data.
std::optional<std::size_t> computing_maker(const Wiring& wiring, std::size_t reader,
                                           const dump::Slot& input) {
  const dump::Runs& runs = wiring.runs();
  auto maker = wiring.maker(reader, input);
  while (maker && kind_of(runs.without_slots(*maker).type).role == OperatorRole::moves) {
    const std::size_t mover = *maker;
    maker.reset();
    for (const dump::Slot& slot : runs.slots(mover))
      if (slot.side == model::Side::input && !maker) maker = wiring.maker(mover, slot);
  }
  const bool is_of_step = maker && runs.without_slots(*maker).step == runs.without_slots(reader).step;
  return is_of_step ? maker : std::nullopt;
}

// Whether an operator ran before all of its step that have a partner: what a program computes before its
// network runs are weights and data.
bool is_before_pairs(const dump::Runs& runs, std::size_t execution, bool is_golden,
                     std::span<const OperatorPair> pairs) {
  const auto step = runs.without_slots(execution).step;
  return std::ranges::none_of(pairs, [&](const OperatorPair& pair) {
    const std::size_t mine = is_golden ? pair.golden : pair.actual;
    return pair.golden != OperatorPair::kNone && pair.actual != OperatorPair::kNone && mine < execution &&
           runs.without_slots(mine).step == step;
  });
}

// "input.1 is -1": the numbers that an operator reads.
std::string describe_inputs(const dump::Runs& runs, std::size_t execution) {
  std::string text;
  for (const dump::Slot& slot : runs.slots(execution)) {
    const auto number = slot.side == model::Side::input ? single_number(slot) : std::nullopt;
    if (number)
      text +=
          (text.empty() ? "input." : ", input.") + std::to_string(slot.index) + " is " + format_g(*number);
  }
  return text;
}

class Origin {
 public:
  Origin(const Wiring& golden, const Wiring& actual, std::span<const OperatorPair> pairs)
      : golden_(golden), actual_(actual), pairs_(pairs) {}

  InputOrigin find(const OperatorPair& reader, const SlotComparison& slot) const {
    const std::string name = slot_name(slot);
    if (slot.golden->shape && slot.actual->shape && *slot.golden->shape != *slot.actual->shape)
      return of_other_shape(reader, slot);
    if (const auto print = fingerprint_of(*slot.golden); print && print == fingerprint_of(*slot.actual))
      return {name + " has golden's elements in another order (transposed?)"};
    const auto in_actual = actual_.maker(reader.actual, *slot.actual);
    if (in_actual && !partner_in_golden(*in_actual)) return of_single(name, *in_actual, true);
    const auto made = golden_.maker(reader.golden, *slot.golden);
    if (!in_actual && !made) return {describe_numbers(slot)};
    const auto partner = made ? partner_in_actual(*made) : std::nullopt;
    if (made && !partner) return of_single(name, *made, false);
    if (!made) return {};
    const std::string maker = one_line(operator_name(golden_.runs().without_slots(*made)));
    if (in_actual)
      return *in_actual == *partner || has_one_value(*slot.actual)
                 ? InputOrigin()
                 : InputOrigin{name + " is what " +
                               one_line(operator_name(actual_.runs().without_slots(*in_actual))) +
                               " made, in golden what " + maker + " made"};
    if (slot.golden->dtype != slot.actual->dtype) return {};  // that is other memory
    // Actual's has made the same: what actual's reader got is no longer that, or is another part.
    const auto wanted = fingerprint_of(*slot.golden);
    const std::vector<dump::Slot> outputs = outputs_of(actual_.runs(), *partner);
    if (std::ranges::none_of(outputs, [&](const auto& output) { return fingerprint_of(output) == wanted; }))
      return {};
    // Of a number, the two being equal may be chance.
    if (std::string numbers = describe_numbers(slot); !numbers.empty()) return {std::move(numbers)};
    const bool is_part = is_part_of(slot, outputs);
    return {name + (is_part ? " is another part of what " + maker + " made"
                            : " was changed in memory after " + maker + " had made it")};
  }

 private:
  InputOrigin of_other_shape(const OperatorPair& reader, const SlotComparison& slot) const {
    const std::string name = slot_name(slot);
    const auto in_actual = actual_.maker(reader.actual, *slot.actual);
    const auto in_golden = golden_.maker(reader.golden, *slot.golden);
    InputOrigin origin;
    if (in_actual && !partner_in_golden(*in_actual)) origin = of_single(name, *in_actual, true);
    if (!origin.single && in_golden && !partner_in_actual(*in_golden))
      origin = of_single(name, *in_golden, false);
    if (auto view = origin.single ? find_narrowing_view(name, *origin.single) : std::nullopt) return *view;
    if (!origin.single) {
      origin.text = name + " " + describe_shapes(slot);
      const auto by_actual = actual_.recorded(reader.actual, slot.actual->index).maker,
                 by_golden = golden_.recorded(reader.golden, slot.golden->index).maker;
      if (slot.parts != nullptr && by_actual && by_golden)
        origin.text += ", made by " + describe_maker(actual_, *by_actual) + ", in golden by " +
                       describe_maker(golden_, *by_golden);
    }
    return origin;
  }
  static std::string describe_maker(const Wiring& wiring, const Wiring::Output& made) {
    const dump::OperatorRun maker = wiring.runs().without_slots(made.execution);
    const std::string source = maker.op != nullptr ? model::format_source(*maker.op) : "";
    return one_line(operator_name(maker)) + (source.empty() ? "" : " at " + source);
  }
  InputOrigin of_single(const std::string& name, std::size_t run, bool is_actual) const {
    const Wiring& wiring = is_actual ? actual_ : golden_;
    const dump::Runs& runs = wiring.runs();
    run = see_through_copies(wiring, run, is_actual);
    const auto pair =
        std::ranges::find(pairs_, run, is_actual ? &OperatorPair::actual : &OperatorPair::golden);
    if (pair == pairs_.end() || copies_data(wiring, run)) return {};
    return {.text = name + " is made by " + one_line(operator_name(runs.without_slots(run))) +
                    ", which only " + (is_actual ? "actual" : "golden") + " has",
            .single = static_cast<std::size_t>(pair - pairs_.begin())};
  }
  // Among what the operator at `place` and others of its run alone have moved: a view that has fewer elements
  // than what it views, as a slice. The first of several.
  std::optional<InputOrigin> find_narrowing_view(const std::string& name, std::size_t place) const {
    const bool is_actual = pairs_[place].golden == OperatorPair::kNone;
    const Wiring& wiring = is_actual ? actual_ : golden_;
    std::optional<std::uint32_t> view;
    for (auto at = is_actual ? pairs_[place].actual : pairs_[place].golden; moves(wiring.runs(), at);) {
      if (is_narrowing_view(wiring.runs(), at)) view = at;
      const auto maker = wiring.recorded(at, 0).maker;
      if (!maker || (is_actual ? partner_in_golden(maker->execution) : partner_in_actual(maker->execution)))
        break;
      at = maker->execution;
    }
    const auto pair = std::ranges::find(pairs_, view.value_or(OperatorPair::kNone),
                                        is_actual ? &OperatorPair::actual : &OperatorPair::golden);
    if (!view || pair == pairs_.end()) return std::nullopt;
    return InputOrigin{.text = name + " is a part of a tensor, which only " +
                               (is_actual ? "actual" : "golden") +
                               " takes: " + one_line(operator_name(wiring.runs().without_slots(*view))),
                       .single = static_cast<std::size_t>(pair - pairs_.begin()),
                       .is_narrowed = true};
  }
  static bool moves(const dump::Runs& runs, std::size_t run) {
    return kind_of(runs.without_slots(run).type).role == OperatorRole::moves;
  }
  static bool is_narrowing_view(const dump::Runs& runs, std::size_t run) {
    std::uint64_t viewed = 0, taken = 0;
    for (const dump::Slot& slot : runs.slots(run)) {
      if (slot.undumped_reason != "view") continue;
      (slot.side == model::Side::input ? viewed : taken) += element_count_of(slot);
    }
    return taken > 0 && taken < viewed;
  }
  // The operator that made what `run` and others before it only copy, if only its run has it, too.
  std::size_t see_through_copies(const Wiring& wiring, std::size_t run, bool is_actual) const {
    const dump::Runs& runs = wiring.runs();
    while (model::has_trait(runs.without_slots(run).type, model::Trait::copies)) {
      std::optional<std::size_t> maker;
      for (const dump::Slot& slot : runs.slots(run))
        if (slot.side == model::Side::input) maker = wiring.maker(run, slot);
      if (!maker || (is_actual ? partner_in_golden(*maker) : partner_in_actual(*maker))) break;
      run = *maker;
    }
    return run;
  }
  // Whether it only copies what no operator made.
  static bool copies_data(const Wiring& wiring, std::size_t run) {
    const dump::Runs& runs = wiring.runs();
    if (!model::has_trait(runs.without_slots(run).type, model::Trait::copies)) return false;
    for (const dump::Slot& slot : runs.slots(run))
      if (slot.side == model::Side::input && (!fingerprint_of(slot) || wiring.maker(run, slot))) return false;
    return true;
  }
  std::optional<std::size_t> partner_in_golden(std::size_t actual) const {
    const auto pair = std::ranges::find(pairs_, actual, &OperatorPair::actual);
    return pair == pairs_.end() || pair->golden == OperatorPair::kNone
               ? std::nullopt
               : std::optional<std::size_t>(pair->golden);
  }
  std::optional<std::size_t> partner_in_actual(std::size_t golden) const {
    const auto pair = std::ranges::find(pairs_, golden, &OperatorPair::golden);
    return pair == pairs_.end() || pair->actual == OperatorPair::kNone
               ? std::nullopt
               : std::optional<std::size_t>(pair->actual);
  }

  const Wiring &golden_, &actual_;
  std::span<const OperatorPair> pairs_;
};

}  // namespace

std::string describe_numbers(const SlotComparison& slot) {
  const auto golden = single_number(*slot.golden), actual = single_number(*slot.actual);
  if (!golden || !actual) return "";
  const std::string in_golden = format_g(*golden), in_actual = format_g(*actual);
  return in_golden == in_actual
             ? ""
             : slot_name(slot) + " is " + in_golden + " in golden and " + in_actual + " in actual";
}

std::string describe_shapes(const SlotComparison& slot) {
  if (slot.parts != nullptr && slot.metrics)
    return "has " + format_g(slot.metrics->max_abs_actual) + " where golden has " +
           format_g(slot.metrics->max_abs_golden);
  return "is " + model::format_shape(*slot.golden->shape) + " in golden and " +
         model::format_shape(*slot.actual->shape) + " in actual";
}

InputOrigin find_input_origin(const OperatorComparison& op, const Wiring& golden, const Wiring& actual,
                              std::span<const OperatorPair> pairs) {
  const OperatorPair* const reader = find_reader(op, golden, actual, pairs);
  if (reader == nullptr) return {};
  const Origin origin(golden, actual, pairs);
  for (const SlotComparison& slot : op.slots) {
    if (!is_open_input(slot)) continue;
    if (InputOrigin found = origin.find(*reader, slot); found.single || !found.text.empty()) return found;
  }
  return {};
}

InputOrigin find_folded_operator(const OperatorComparison& op, const Wiring& golden, const Wiring& actual,
                                 std::span<const OperatorPair> pairs) {
  const OperatorPair* const reader = find_reader(op, golden, actual, pairs);
  if (reader == nullptr) return {};
  for (const SlotComparison& slot : op.slots) {
    if (!is_open_input(slot)) continue;
    const auto in_golden = computing_maker(golden, reader->golden, *slot.golden);
    const auto in_actual = computing_maker(actual, reader->actual, *slot.actual);
    if (in_golden.has_value() == in_actual.has_value()) continue;
    const std::size_t maker = in_golden ? *in_golden : *in_actual;
    const auto pair =
        std::ranges::find(pairs, maker, in_golden ? &OperatorPair::golden : &OperatorPair::actual);
    if (pair == pairs.end() || (in_golden ? pair->actual : pair->golden) != OperatorPair::kNone) continue;
    if (is_before_pairs(in_golden ? golden.runs() : actual.runs(), maker, in_golden.has_value(), pairs))
      continue;
    return {.text = describe_inputs((in_golden ? golden : actual).runs(), maker),
            .single = static_cast<std::size_t>(pair - pairs.begin())};
  }
  return {};
}

std::string explain_numbers(const OperatorComparison& op) {
  for (const SlotComparison& slot : op.slots)
    if (is_open_input(slot))
      if (std::string text = describe_numbers(slot); !text.empty()) return text;
  return "";
}

}  // namespace opdump::compare
