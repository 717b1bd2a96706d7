#include <algorithm>
#include <string_view>

#include "compare/facts/arguments.h"
#include "compare/key_slots.h"
#include "compare/measure/sharded/measure_shards.h"
#include "compare/pairs/quantised/quantisation.h"
#include "compare/rules/leave_out/leave_out.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// Why nothing is said of a slot; empty if something is.
using WhyLeftOut = std::string_view (*)(const OperatorComparison& op, const SlotComparison& slot);

template <WhyLeftOut kWhy>
class LeavesOutTensors : public RuleState {
 public:
  explicit LeavesOutTensors(std::string_view name) : name_(name) {}

  static std::unique_ptr<RuleState> begin(const Rule& rule, const Study&) {
    return std::make_unique<LeavesOutTensors>(rule.name);
  }

  bool look(OperatorComparison& op, Ledger&) override {
    bool has_left_out = false;
    for (SlotComparison& slot : op.slots) {
      if (!slot.rule.empty()) continue;
      const std::string_view why = kWhy(op, slot);
      if (why.empty()) continue;
      slot.verdict = Verdict::skipped;
      slot.metrics.reset();
      slot.wrong_ranks.clear();
      slot.reason = why;
      slot.rule = name_;
      has_left_out = true;
    }
    return has_left_out;
  }

 private:
  std::string_view name_;
};

bool is_paired(const OperatorComparison& op) { return op.golden != nullptr && op.actual != nullptr; }
bool is_single(const SlotComparison& slot) { return slot.golden == nullptr || slot.actual == nullptr; }
bool is_output(const SlotComparison& slot) { return side_of(slot) == model::Side::output; }

// What an operator makes counts whatever is said of its inputs.
bool always_counts(const OperatorComparison& op, const SlotComparison& slot) {
  return is_paired(op) && (is_output(slot) || is_quantised_input(op, slot));
}

bool is_of_onnx(const OperatorComparison& op) {
  const auto is_onnx = [](const auto& run) {
    return run != nullptr && run->form != nullptr && run->form->is_of_onnx();
  };
  return is_onnx(op.golden) && is_onnx(op.actual);
}

std::string_view overwritten(const OperatorComparison& op, const SlotComparison& slot) {
  if (!is_paired(op) || slot.golden == nullptr || is_output(slot) ||
      !model::has_trait(op.run().type, model::Trait::overwrites))
    return {};
  const auto outputs = static_cast<std::size_t>(std::ranges::count_if(op.slots, is_output));
  // A .h5 file has the arguments in the order of their names.
  const bool is_written =
      slot.golden->argument.empty() ? slot.golden->index < outputs : slot.golden->argument == "self";
  return is_written ? "overwritten without being read" : std::string_view();
}

std::string_view other_framework(const OperatorComparison& op, const SlotComparison& slot) {
  return op.is_across && is_paired(op) && is_single(slot) ? "the other framework has no such tensor"
                                                          : std::string_view();
}

std::string_view not_logged(const OperatorComparison& op, const SlotComparison& slot) {
  return op.lacks_slots && is_paired(op) &&
                 (is_single(slot) || !slot.golden->has_data() || !slot.actual->has_data())
             ? "one of the runs has no value of it"
             : std::string_view();
}

std::string_view not_on_all_ranks(const OperatorComparison& op, const SlotComparison& slot) {
  return !op.shards.empty() && is_single(slot) ? "the other run has no such tensor" : std::string_view();
}

std::string_view shard_left_out(const OperatorComparison& op, const SlotComparison&) {
  return op.shards.empty() ? std::string_view() : op.left_out;
}

std::string_view own_rows(const OperatorComparison& op, const SlotComparison& slot) {
  return !slot.is_cut_in_rows && looks_up_own_rows(op) ? "each rank looks up the rows that it has"
                                                       : std::string_view();
}

// Of an operator whose results agree, or that only counts: what reads the places shows whether they are
// right.
std::string_view own_places(const OperatorComparison& op, const SlotComparison& slot) {
  if (!slot.counts_anew) return {};
  bool makes_numbers = false, reads = false;
  for (const SlotComparison& other : op.slots) {
    reads |= !is_output(other);
    if (!is_output(other) || !model::is_floating(other.dtype)) continue;
    if (is_difference(other.verdict)) return {};
    makes_numbers = true;
  }
  return makes_numbers || !reads ? "each rank counts from the beginning of its part" : std::string_view();
}

// Of a tensor that the engine has transposed.
std::string_view other_layout(const OperatorComparison& op, const SlotComparison&) {
  if (op.run().type != "Shape" || !is_rewritten_by_engine(op.golden.get(), op.actual.get())) return {};
  const std::vector<dump::Slot>&golden = op.golden->slots, &actual = op.actual->slots;
  return !golden.empty() && !actual.empty() && golden.front().shape != actual.front().shape
             ? "the engine computes in another layout"
             : std::string_view();
}

std::string_view optional_output(const OperatorComparison& op, const SlotComparison& slot) {
  return is_single(slot) && is_output(slot) && is_of_onnx(op) ? "optional, and not wanted in the other run"
                                                              : std::string_view();
}

std::string_view operator_left_out(const OperatorComparison& op, const SlotComparison& slot) {
  return always_counts(op, slot) ? std::string_view() : op.left_out;
}

constexpr std::string_view kRewritten = "the engine computes the same of other inputs",
                           kOtherPieces = "the same is put together from other pieces";

// Axes, sizes and the like, of which the result shows whether the engine changed them rightly.
std::string_view rewritten_number(const OperatorComparison& op, const SlotComparison& slot) {
  const bool is_number = is_rewritten_by_engine(op.golden.get(), op.actual.get()) &&
                         slot.verdict != Verdict::match && slot.golden != nullptr && slot.actual != nullptr &&
                         !model::is_floating(slot.golden->dtype);
  return is_number && !always_counts(op, slot) ? kRewritten : std::string_view();
}

std::string_view added_input(const OperatorComparison& op, const SlotComparison& slot) {
  const auto is_made_of_others = [](const auto& run) {
    return run != nullptr && run->originals() != nullptr;
  };
  const bool is_put_in = (slot.golden == nullptr && is_made_of_others(op.actual)) ||
                         (slot.actual == nullptr && is_made_of_others(op.golden));
  return is_paired(op) && is_put_in && !always_counts(op, slot) ? "added by the engine" : std::string_view();
}

// An axis, or the sizes of a tensor.
bool is_place(const SlotComparison& slot) {
  return slot.golden != nullptr && slot.actual != nullptr && slot.golden->shape &&
         slot.golden->shape->dims().size() <= 1 && !model::is_floating(slot.golden->dtype);
}

// Axes and limits of ONNX are attributes in some versions of its operators, and inputs in others.
bool is_attribute_elsewhere(const OperatorComparison& op, const SlotComparison& slot) {
  const dump::Slot* const single = slot.golden == nullptr ? slot.actual : slot.golden;
  return (slot.golden == nullptr) != (slot.actual == nullptr) && is_of_onnx(op) && single->shape &&
         single->shape->dims().size() <= 1;
}

// Whether one side is an operator of ONNX Runtime that adds what it reads before it does what the other does.
bool reads_terms(const OperatorComparison& op) {
  const auto is_one = [&](const auto& run) { return model::has_trait(run->type, model::Trait::adds_first); };
  return is_paired(op) && is_one(op.golden) != is_one(op.actual);
}

// Of what puts tensors together as they are: the whole may have other pieces in each run.
bool is_piece(const OperatorComparison& op, const SlotComparison& slot) {
  const bool is_other = is_single(slot) || (slot.golden->shape && slot.actual->shape &&
                                            *slot.golden->shape != *slot.actual->shape);
  return is_other && model::has_trait(op.run().type, model::Trait::chooses);
}

std::string_view same_of_other_inputs(const OperatorComparison& op, const SlotComparison& slot) {
  if (is_output(slot) || slot.verdict == Verdict::match || slot.verdict == Verdict::skipped) return {};
  const bool is_rewritten = is_rewritten_by_engine(op.golden.get(), op.actual.get()) || reads_terms(op);
  bool differs = false, is_compared = false, has_numbers = false;
  for (const SlotComparison& output : op.slots) {
    if (!is_output(output)) continue;
    differs |= is_difference(output.verdict);
    is_compared |= output.verdict != Verdict::skipped;
    has_numbers |= output.metrics && model::is_floating(output.dtype);
  }
  if (differs || !is_compared) return {};
  // Another implementation may keep the elements of what it multiplies in another order. A choice or a
  // comparison, though, may come out the same of wrong numbers.
  const bool may_read_others = is_rewritten || is_attribute_elsewhere(op, slot) || is_piece(op, slot) ||
                               (op.is_across && (is_place(slot) || (has_numbers && !is_single(slot))));
  if (!may_read_others) return {};
  return is_piece(op, slot) ? kOtherPieces : kRewritten;
}

// What a recording that ends early, or one that cannot say that a tensor has no data, says by an absence.
class Absences : public RuleState {
 public:
  Absences(std::string_view name, Unfinished unfinished) : name_(name), unfinished_(std::move(unfinished)) {}

  bool look(OperatorComparison& op, Ledger&) override {
    bool has_changed = false;
    for (SlotComparison& slot : op.slots) {
      const Verdict verdict = verdict_of(op, slot);
      if (verdict == slot.verdict) continue;
      slot.verdict = verdict;
      slot.rule = name_;
      has_changed = true;
    }
    return has_changed;
  }

 protected:
  virtual Verdict verdict_of(const OperatorComparison& op, const SlotComparison& slot) const = 0;
  const Unfinished& unfinished() const { return unfinished_; }

 private:
  std::string_view name_;
  Unfinished unfinished_;
};

class SilentDump : public Absences {
 public:
  using Absences::Absences;

 private:
  // The recording says that there is no data.
  static bool is_undumped(const dump::OperatorRun* run, const dump::Slot* slot) {
    return run != nullptr && slot != nullptr && run->op != nullptr && !slot->has_data();
  }
  Verdict verdict_of(const OperatorComparison& op, const SlotComparison& slot) const override {
    const bool is_silent =
        slot.actual == nullptr   ? unfinished().actual_is_silent && is_undumped(op.golden.get(), slot.golden)
        : slot.golden == nullptr ? unfinished().golden_is_silent && is_undumped(op.actual.get(), slot.actual)
                                 : false;
    return is_silent ? Verdict::skipped : slot.verdict;
  }
};

class UnfinishedRecording : public Absences {
 public:
  using Absences::Absences;

 private:
  Verdict verdict_of(const OperatorComparison& op, const SlotComparison& slot) const override {
    const bool is_excused =
        is_paired(op) && ((slot.verdict == Verdict::missing && unfinished().excuses_actual(*op.actual)) ||
                          (slot.verdict == Verdict::extra && unfinished().excuses_golden(*op.golden)));
    return is_excused ? Verdict::unreadable : slot.verdict;
  }
};

template <typename State>
std::unique_ptr<RuleState> begin_with_unfinished(const Rule& rule, const Study& study) {
  return std::make_unique<State>(rule.name, study.unfinished);
}

}  // namespace

const Rule kOverwritten{
    .name = "overwritten",
    .sentence = "what an operator overwrites without reading it, as copy_ does, is no input",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<overwritten>::begin};
const Rule kOtherFramework{.name = "other-framework",
                           .sentence = "a tensor that only one framework's operator has is left out",
                           .stage = Stage::leave_out,
                           .begin = LeavesOutTensors<other_framework>::begin};
const Rule kNotLogged{.name = "not-logged",
                      .sentence = "a tensor of which one of the dumps, a log, has no value is left out",
                      .stage = Stage::leave_out,
                      .begin = LeavesOutTensors<not_logged>::begin};
const Rule kNotOnAllRanks{
    .name = "not-on-all-ranks",
    .sentence = "a tensor that only the ranks have, or only the single process, is left out",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<not_on_all_ranks>::begin};
const Rule kShardLeftOut{
    .name = "shard-left-out",
    .sentence = "of collectives and what the other run has nothing like, nothing is compared",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<shard_left_out>::begin};
const Rule kOwnRows{.name = "own-rows",
                    .sentence =
                        "a rank that looks up only the rows of an embedding that it has reads and gives no "
                        "part of the whole",
                    .stage = Stage::leave_out,
                    .begin = LeavesOutTensors<own_rows>::begin};
const Rule kOwnPlaces{
    .name = "own-places",
    .sentence = "a rank counts places from the beginning of its part of a batch: what reads them is compared",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<own_places>::begin};
const Rule kOtherLayout{.name = "other-layout",
                        .sentence = "the shape of a tensor that an engine has transposed is another one",
                        .stage = Stage::leave_out,
                        .begin = LeavesOutTensors<other_layout>::begin};
const Rule kOptionalOutput{
    .name = "optional-output",
    .sentence = "an output of an ONNX operator that one model does not want is left out",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<optional_output>::begin};
const Rule kOperatorLeftOut{
    .name = "operator-left-out",
    .sentence = "of operators that an engine fused, put in or quantised, only results count",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<operator_left_out>::begin};
const Rule kRewrittenNumber{
    .name = "rewritten-number",
    .sentence = "an engine may have other axes and sizes: the result shows whether it is right",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<rewritten_number>::begin};
const Rule kAddedInput{.name = "added-input",
                       .sentence = "an input that an engine has given an operator is left out",
                       .stage = Stage::leave_out,
                       .begin = LeavesOutTensors<added_input>::begin};
const Rule kSilentDump{.name = "silent-dump",
                       .sentence = "a tensor without data is nothing in a dump that cannot say so",
                       .stage = Stage::leave_out,
                       .begin = begin_with_unfinished<SilentDump>};
const Rule kUnfinished{
    .name = "unfinished-recording",
    .sentence = "what a recording that ends early lacks is an open question, no difference",
    .stage = Stage::leave_out,
    .begin = begin_with_unfinished<UnfinishedRecording>};
const Rule kSameOfOtherInputs{
    .name = "same-of-other-inputs",
    .sentence =
        "an engine or another framework may compute an equal result of other inputs, and what puts "
        "tensors together may read other pieces",
    .stage = Stage::leave_out,
    .begin = LeavesOutTensors<same_of_other_inputs>::begin};

}  // namespace opdump::compare
