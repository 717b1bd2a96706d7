#include "blame/blame.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "blame/ahead.h"
#include "blame/by_comparison.h"
#include "blame/culprits/chain.h"
#include "blame/culprits/culprits.h"
#include "blame/differences.h"
#include "blame/finding_log.h"
#include "blame/followers.h"
#include "blame/gains/gain_search.h"
#include "blame/inputs/input_search.h"
#include "blame/inputs/origin.h"
#include "blame/inputs/unread.h"
#include "blame/precision.h"
#include "blame/request.h"
#include "blame/sequence.h"
#include "blame/substitution/substitution.h"
#include "blame/suspects.h"
#include "compare/facts/arguments.h"
#include "compare/facts/environment.h"
#include "compare/facts/unfinished.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/pairs/sharded/pair_shards.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/rule.h"
#include "compare/rules/same/same.h"

namespace opdump::blame {
namespace {

using compare::one_line;
using compare::operator_name;
using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

constexpr std::size_t kMaxNotes = 8;  // when those about harmless arguments are added

class Trial {
 public:
  Trial(const dump::DumpSet& golden, const dump::DumpSet& actual, const BlameOptions& options)
      : golden_(golden),
        actual_(actual),
        options_(options),
        gains_(!compare::describe_environments(golden, actual)),
        findings_(suspects_, answer_),
        inputs_(golden.runs(), actual.runs(), options.compare.threads,
                compare::lacks_backward_of_regions(golden) || compare::lacks_backward_of_regions(actual),
                suspects_, findings_) {}

  Result<BlameAnswer> run(compare::Comparison& comparison) {
    OPDUMP_TRY(comparison, suspects_.collect(golden_, actual_, options_.compare, gains_));
    golden_units_ = comparison.golden_units;
    actual_units_ = comparison.actual_units;
    answer_.compared = suspects_.compared();
    answer_.differing = suspects_.differing();
    Ahead ahead(suspects_.all(), options_.expect, options_.limit);
    std::uint32_t i = 0;
    for (; i < suspects_.size() && findings_.certain() == 0; ++i) {
      ahead.look_beyond(i, answer_.replayed);
      OPDUMP_CHECK_OK(examine(i));
    }
    if (inputs_.have_other_shapes()) i = suspects_.size();  // nothing else can be compared
    const std::set<std::uint32_t> further = choose_further(suspects_.all(), i);
    for (; i < suspects_.size(); ++i) {
      ahead.look_beyond(i, answer_.replayed, &further);
      OPDUMP_CHECK_OK(examine_further(i, further.contains(i)));
    }
    OPDUMP_CHECK_OK(conclude(comparison));
    return std::move(answer_);
  }

 private:
  Result<> examine(std::uint32_t i) {
    const OperatorComparison& op = suspects_[i];
    if (!is_paired(op)) return examine_single(i);
    // The comparison says what two programs compute where they part: what they read is no pair.
    if (op.fusion == compare::Fusion::parting &&
        (op.golden->type != op.actual->type || !compare::find_argument_difference(*op.golden, *op.actual)))
      return ok();
    const std::size_t before = findings_.certain();
    if (differs(op, model::Side::output)) OPDUMP_CHECK_OK(examine_outputs(i));
    // No rounding makes NaN or infinity, and what follows from them says nothing.
    if (std::string why = why_not_finite(op); !why.empty() && findings_.certain() == before)
      findings_.add(i, Cause::overflow, Confidence::certain, output_name(op), std::move(why));
    OPDUMP_CHECK_OK(examine_gains(i));
    inputs_.note_outputs(i);
    return ok();
  }

  Result<> examine_gains(std::uint32_t i) {
    if (!gains_.applies() || !answer_.findings.empty()) return ok();  // which explain what follows
    OPDUMP_TRY(const auto found, gains_.look(suspects_.all(), i, suspects_.before_equal(), options_.replay));
    if (found) findings_.add(found->place, found->cause, Confidence::suspect, found->slot, found->why);
    return ok();
  }

  Result<> examine_outputs(std::uint32_t i) {
    const OperatorComparison& op = suspects_[i];
    const std::size_t before = findings_.certain();
    std::optional<Replayed> replayed;
    const auto difference = compare::find_argument_difference(*op.golden, *op.actual);
    const bool is_scaled = op.rule == compare::kScaledGradients.name;
    const bool is_another = difference && (is_scaled || follows_forward(i) || is_rewritten(op, *difference));
    if (difference && difference->is_type) {
      if (distance_of(op) > kLargestRounding)
        findings_.add(i, Cause::sequence, Confidence::certain, {}, difference->text);
    } else if (difference && !is_another) {
      const std::tuple cause(compare::module_of(*op.golden), op.golden->type, difference->text);
      if (!causes_.contains(cause)) {
        OPDUMP_TRY(replayed, replay(i, {.argues = true}));
      }
      blame_argument(i, difference->text, replayed);
      if (findings_.certain() > before) causes_.insert(cause);
    }
    if (std::string why = why_another_integer(op); !why.empty())
      findings_.add(i, Cause::argument, Confidence::certain, output_name(op), std::move(why));
    inputs_.look(i, findings_.certain() == before && !is_another);
    if (findings_.certain() > before) return ok();
    if (!replayed) {
      OPDUMP_TRY(replayed, replay(i, usual_question(op)));
    }
    if (replayed) blame_replayed(i, *replayed);
    return ok();
  }

  // ---- Other culprits.

  Result<> examine_further(std::uint32_t i, bool is_chosen) {
    const OperatorComparison& op = suspects_[i];
    if (is_paired(op) && differs(op, model::Side::output)) {
      if (is_chosen || compare::find_argument_difference(*op.golden, *op.actual)) {
        OPDUMP_CHECK_OK(examine_outputs(i));
      } else {
        inputs_.look(i, true);
      }
    }
    inputs_.note_outputs(i);
    return ok();
  }

  // One of several operators by which a module computes the same in two ways: it has other arguments
  // because it is another one.
  bool is_rewritten(const OperatorComparison& op, const compare::ArgumentDifference& difference) const {
    return suspects_.rewritten().contains(*op.golden) &&
           std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
             return compare::side_of(slot) == model::Side::input && slot.golden != nullptr &&
                    !difference.constants.contains(slot.golden->index) && is_beyond_rounding(slot);
           });
  }

  // Whether it reads tensors that it does not read in the other run.
  static bool has_own_inputs(const OperatorComparison& op) {
    return std::ranges::any_of(op.slots, [](const compare::SlotComparison& slot) {
      return side_of(slot) == model::Side::input && (slot.golden == nullptr || slot.actual == nullptr);
    });
  }

  // Whether it is a gradient of an operator, of the same line, that has tensors of other sizes itself: its
  // numbers come from there, as that of the elements of a mean.
  bool follows_forward(std::uint32_t i) const {
    const dump::OperatorRun& run = suspects_[i].run();
    if (compare::phase_of(run) != model::Phase::backward || run.op == nullptr) return false;
    const std::string source = model::format_source(*run.op);
    return !source.empty() &&
           std::ranges::any_of(suspects_.all().first(i), [&](const OperatorComparison& op) {
             const dump::OperatorRun& before = op.run();
             return is_paired(op) && before.op != nullptr && before.rank == run.rank &&
                    before.step == run.step && compare::phase_of(before) == model::Phase::forward &&
                    model::format_source(*before.op) == source && has_other_size(op);
           });
  }

  // Arguments may differ and mean the same: the types of another precision, the axes of another shape.
  void blame_argument(std::uint32_t i, const std::string& difference,
                      const std::optional<Replayed>& replayed) {
    // Two implementations may compute the same by other arguments, of other inputs.
    if (suspects_[i].is_across && distance_of(suspects_[i]) <= kLargestRounding) return;
    if (has_own_inputs(suspects_[i])) {
      // A mask that only one run has may say what an argument says in the other one.
      if (!compare::is_fine(suspects_[i].verdict))
        findings_.add(i, Cause::argument, Confidence::suspect, {}, difference);
      return;
    }
    if (!replayed || !replayed->is_done)
      return static_cast<void>(findings_.add(i, Cause::argument, Confidence::certain, {}, difference));
    if (replayed->argument.empty() &&
        (distance_of(suspects_[i]) > kLargestRounding || !why_another_shape(suspects_[i]).empty())) {
      // Each run made what it says of the same inputs, by a function of its own.
      const bool is_only =
          !differs(suspects_[i], model::Side::input) && judge(*replayed).fault == Fault::none;
      findings_.add(i, Cause::argument, is_only ? Confidence::certain : Confidence::suspect, {}, difference);
    }
    if (find_excess(replayed->argument).factor > 1)
      findings_.add(i, Cause::argument, Confidence::certain, {}, difference);
    else if (!replayed->argument.empty())
      harmless_.emplace(difference, operator_name(*suspects_[i].golden));
  }

  // ---- Replay.

  void cannot_replay(std::uint32_t i, const std::string& reason) {
    ++reasons_[reason];
    const OperatorComparison& op = suspects_[i];
    if (findings_.certain() > 0 || gains_.applies() || !has_own_error(op)) return;
    const bool has_inputs = std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
      return compare::side_of(slot) == model::Side::input && slot.verdict == Verdict::match;
    });
    if ((!has_inputs || op.is_across) && !answer_.findings.empty()) return;  // which explains it
    findings_.add(i, Cause::unknown, Confidence::suspect, output_name(op),
                  (has_inputs ? "its inputs match, and it cannot be run again: "
                              : "it is the first one that does, and it cannot be run again: ") +
                      reason);
  }

  // Adds which function ended the worker, and in which operator it did so first.
  void name_in(std::string& reason, const dump::OperatorRun& run) {
    reason = one_line(run.form->function) + ": " + reason;
    const auto [first, is_first] = first_ended_.try_emplace(reason, operator_name(run));
    reason += ", first at " + one_line(first->second);
  }

  // Returns nothing if it cannot be run again, and notes why. Where the runs execute different functions,
  // each is run by itself, and only its errors are known.
  Result<std::optional<Replayed>> replay(std::uint32_t i, const Question& question) {
    const dump::OperatorRun *golden = suspects_[i].golden.get(), *actual = suspects_[i].actual.get();
    if (!execute_different_functions(*golden, *actual)) return replay(i, golden, actual, question);
    OPDUMP_TRY(auto both, replay(i, golden, nullptr, {}));
    if (!both || both->is_random) return both;
    OPDUMP_TRY(auto other, replay(i, nullptr, actual, {}));
    if (!other || other->is_random) return other;
    both->actual = std::move(other->actual);
    return both;
  }

  Result<std::optional<Replayed>> replay(std::uint32_t i, const dump::OperatorRun* golden,
                                         const dump::OperatorRun* actual, const Question& question) {
    if (answer_.replayed >= options_.limit) {
      ++reasons_["--replays " + std::to_string(options_.limit) + " is reached"];
      return std::optional<Replayed>();
    }
    auto request = make_request(golden, actual, question);
    if (!request) {
      if (request.error().code() != Code::unsupported) return request.error();
      cannot_replay(i, request.error().message());
      return std::optional<Replayed>();
    }
    OPDUMP_TRY(Replayed replayed, run_again(options_.replay, std::move(*request)));
    if (!replayed.is_done && !replayed.is_random) {
      if (replayed.has_ended) name_in(replayed.reason, golden != nullptr ? *golden : *actual);
      cannot_replay(i, replayed.reason);
      return std::optional<Replayed>();
    }
    answer_.replayed += replayed.is_done && actual != nullptr;
    return std::optional(std::move(replayed));
  }

  void blame_replayed(std::uint32_t i, const Replayed& replayed) {
    const OperatorComparison& op = suspects_[i];
    if (!replayed.is_random) return blame_error(i, replayed);
    // Another machine rounds random numbers otherwise; another seed gives others.
    if (differs(op, model::Side::input)) return;
    std::string why = why_another_shape(op);
    if (why.empty() && distance_of(op) > kLargestRounding) why = why_random(op);
    if (!why.empty()) findings_.add(i, Cause::random, Confidence::suspect, output_name(op), std::move(why));
  }

  void blame_error(std::uint32_t i, Replayed replayed) {
    precision_.note(replayed);
    // All that a run multiplies is rounded so.
    const std::string_view type = suspects_[i].run().type;
    const auto leave_out = [&](std::vector<OutputError>& errors, const auto& units) {
      if (units && units->compute(type))
        std::erase_if(errors, [&](const OutputError& error) { return error.precision == units->name; });
    };
    leave_out(replayed.golden, golden_units_);
    leave_out(replayed.actual, actual_units_);
    const Judgement judgement = judge(replayed);
    if (judgement.fault == Fault::common)
      ++reasons_["both runs are off by the same: it computes something else"];
    if (judgement.fault == Fault::none && answer_.findings.empty() && computes_otherwise(suspects_[i]))
      findings_.add(i, Cause::unknown, Confidence::suspect, output_name(suspects_[i]),
                    why_otherwise(suspects_[i]));
    if (judgement.fault == Fault::none) explained_.insert(i);
    if (judgement.fault == Fault::none || judgement.fault == Fault::common) return;
    const Cause cause = judgement.fault == Fault::actual   ? Cause::own_error
                        : judgement.fault == Fault::golden ? Cause::golden_at_fault
                                                           : Cause::both;
    // Whether a run computes all its sums with less precision is known at the end.
    const bool is_open = !judgement.excess.output->precision.empty();
    Finding& finding =
        findings_.add(i, cause, judgement.is_certain && !is_open ? Confidence::certain : Confidence::suspect,
                      "output." + std::to_string(judgement.excess.output->index), judgement.excess.test);
    finding.error = *judgement.excess.output;
  }

  // An operator that only one side has: it can be wrong by itself, or its presence is the difference.
  Result<> examine_single(std::uint32_t i) {
    const OperatorComparison& op = suspects_[i];
    if (is_certainly_single(op)) inputs_.note_single(i);
    inputs_.note_outputs(i);
    const bool is_golden = op.golden != nullptr;
    if (!op.left_out.empty() || op.run().slots.empty()) return ok();
    if (replayed_singles_ >= options_.limit / 4) return ok();  // a layer that one run computes in many steps
    const auto request = make_request(op.golden.get(), op.actual.get());
    if (!request || answer_.replayed >= options_.limit) return ok();  // which says nothing about it
    OPDUMP_TRY(Replayed replayed, run_again(options_.replay, *request));
    if (replayed.has_ended) {  // an error of its own is not known
      name_in(replayed.reason, op.run());
      ++reasons_[replayed.reason];
    }
    if (!replayed.is_done) return ok();
    ++answer_.replayed;
    ++replayed_singles_;
    const Excess excess = find_excess(is_golden ? replayed.golden : replayed.actual);
    if (excess.factor <= 1) return ok();
    Finding& finding =
        findings_.add(i, is_golden ? Cause::golden_at_fault : Cause::own_error, Confidence::suspect,
                      "output." + std::to_string(excess.output->index), excess.test);
    finding.error = *excess.output;
    return ok();
  }

  // ---- The answer.

  // Data that differs and reaches no result is none's fault.
  void excuse_unread() {
    const auto is_certain = [](const Finding& f) { return f.confidence == Confidence::certain; };
    const auto found = std::ranges::find_if(answer_.findings, is_certain);
    const bool is_data = std::ranges::all_of(
        answer_.findings, [&](const Finding& f) { return !is_certain(f) || f.cause == Cause::input; });
    if (found == answer_.findings.end() || !is_data || inputs_.have_other_shapes() ||
        !ends_unread(actual_.runs(), suspects_.all(), static_cast<std::uint32_t>(found->executions.front()),
                     inputs_.read()))
      return;
    answer_.notes.push_back(one_line(operator_name(found->op.run())) + " reads other values in " +
                            found->slot +
                            ", which no recorded operator made and no result depends on: padding?");
    std::erase_if(answer_.findings, is_certain);
  }

  // What the comparison excuses because the runs compute the same in other ways is nobody's fault, unless an
  // operator that ran again computes something else. Nor is what differs between two operators that are
  // perhaps not the same one. Nor are tensors of other sizes, where another culprit is certain: an argument
  // that only makes them larger may be meant.
  void excuse_other_ways(const compare::Comparison& comparison) {
    const auto is_excused = [](const Finding& f) {
      const compare::Rule* const rule = compare::find_rule(f.op.rule);
      return !f.error &&
             (f.op.verdict == Verdict::uncertain || (f.cause == Cause::argument && has_own_inputs(f.op)) ||
              (rule != nullptr && rule->stage == compare::Stage::same_otherwise));
    };
    if (!comparison.first_bad) std::erase_if(answer_.findings, is_excused);
    for (Finding& finding : answer_.findings)
      if (!finding.error &&
          (finding.op.verdict == Verdict::uncertain || finding.op.fusion == compare::Fusion::parting))
        finding.confidence = Confidence::suspect;
    const bool is_certain = std::ranges::any_of(answer_.findings, [](const Finding& f) {
      return f.confidence == Confidence::certain && !has_other_size(f.op);
    });
    for (Finding& finding : answer_.findings)
      if (is_certain && finding.cause == Cause::argument && has_other_size(finding.op))
        finding.confidence = Confidence::suspect;
  }

  static bool has_other_size(const OperatorComparison& op) {
    return std::ranges::any_of(op.slots, [](const compare::SlotComparison& slot) {
      return slot.golden != nullptr && slot.actual != nullptr && !slot.metrics &&
             slot.golden->shape != slot.actual->shape;
    });
  }

  static bool is_in_part(const OperatorComparison& op) {
    return std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
      return slot.parts != nullptr && slot.metrics && side_of(slot) == model::Side::output;
    });
  }

  // The comparison may know more of the first bad operator: what it reads. Gradients of a compiled region
  // come from no recorded operator: that they differ is all that can be said.
  void blame_first_bad(const compare::Comparison& comparison) {
    if (!answer_.findings.empty() || !comparison.first_bad) return;
    const OperatorComparison& bad = *comparison.first_bad;
    const auto place = suspects_.find(bad);
    if (!place || !is_paired(bad)) return;
    if (bad.verdict == Verdict::input_differs) {
      const auto is_other = [](const SlotComparison& slot) {
        return side_of(slot) == model::Side::input && compare::is_difference(slot.verdict);
      };
      if (const auto slot = std::ranges::find_if(bad.slots, is_other); slot != bad.slots.end())
        findings_.add(*place, Cause::input, Confidence::suspect, slot_name(*slot),
                      "it differs by more than rounding, and what is made of it does not");
      return;
    }
    const bool is_open = (inputs_.lacks_gradients() && compare::has_bad_output(bad.verdict)) ||
                         !why_another_shape(bad).empty();
    // Arguments were tried.
    const bool is_explained =
        bad.fusion == compare::Fusion::parting ||
        (bad.verdict == Verdict::inherited && !bad.cause.empty() && makes_beyond_rounding(bad) &&
         !compare::find_argument_difference(*bad.golden, *bad.actual));
    // Each run computes what it reads: its inputs, compared row by row, do not belong together.
    const auto last = std::find_if(bad.slots.rbegin(), bad.slots.rend(), [](const SlotComparison& slot) {
      return slot.parts != nullptr && side_of(slot) == model::Side::input;
    });
    if (last != bad.slots.rend() && bad.verdict == Verdict::own_error && bad.cause.empty() &&
        explained_.contains(*place)) {
      findings_.add(*place, Cause::input, Confidence::suspect, slot_name(*last),
                    "its rows do not belong to those of the other inputs: each run's output is right for "
                    "what it reads");
      return;
    }
    const std::string type = suspects_.have_one_type() ? why_another_type(bad) : std::string();
    if (is_open || is_explained || !type.empty())
      findings_.add(*place, Cause::unknown, Confidence::suspect, output_name(bad),
                    !type.empty()        ? type + ", and most operators have one type in both runs"
                    : !bad.cause.empty() ? bad.cause
                    : is_in_part(bad)    ? "it differs in the rows that both runs have"
                    : why_another_shape(bad).empty() ? "its inputs differ"
                                                     : why_another_shape(bad));
  }

  // Of two programs that compute the same by other operators, the comparison knows what is lost; trying out
  // tells what is wrong.
  Result<> blame_substituted(const compare::Comparison& comparison) {
    if (answer_.findings.empty() || !comparison.first_bad ||
        comparison.first_bad->fusion != compare::Fusion::parting)
      return ok();
    const OperatorComparison& bad = *comparison.first_bad;
    Finding& finding = answer_.findings.front();
    if (!are_one(finding.op.run(), bad.run())) return ok();
    const compare::OperatorPair parting = compare::find_executions(golden_.runs(), actual_.runs(), bad);
    if (!parting.is_whole()) return ok();
    const auto tried = find_substitution(golden_.runs(), actual_.runs(), parting, options_.replay,
                                         options_.compare.threads, options_.limit);
    // Where no Python runs operators, or one ends, the answer is that of the comparison.
    if (!tried && (tried.error().code() == Code::unsupported || tried.error().code() == Code::internal))
      return ok();
    if (!tried) return tried.error();
    const std::optional<Substitution>& found = *tried;
    if (!found) return ok();
    answer_.replayed += found->replayed;
    finding.op.golden = std::make_shared<const dump::OperatorRun>(golden_.runs()[found->begins.golden]);
    finding.op.actual = std::make_shared<const dump::OperatorRun>(actual_.runs()[found->begins.actual]);
    finding.op.slots.clear();
    finding.cause = Cause::unknown;
    finding.slot = "output.0";
    finding.why = describe_substitution(*found, golden_.runs(), actual_.runs());
    if (!are_one(finding.op.run(), bad.run()) && !are_one(*finding.op.actual, *bad.actual))
      answer_.notes.push_back("compare names " + one_line(operator_name(bad.run())) +
                              ", which is right, or follows: golden's results in actual's place show it");
    return ok();
  }

  // What the comparison accuses explains what follows from it.
  void blame_accused(const compare::Comparison& comparison) {
    for (const compare::Accusation& accusation : comparison.accusations) {
      if (accusation.followers.empty()) continue;
      const auto place =
          leave_out_followers(suspects_.all(), accusation.op, std::string(accusation.followers), answer_);
      if (!place) continue;
      const Charge charge = charge_of(accusation);
      findings_.add(*place, charge.cause, charge.confidence, charge.slot, accusation.op.cause);
    }
    if (const auto& first = comparison.first_bad)
      if (const auto place = leave_out_sizes(suspects_.all(), *first, answer_))
        findings_.add(*place, Cause::sequence, Confidence::suspect, {}, first->cause);
  }

  // Why the operator that the comparison names is not the culprit, if that is known.
  void note_other_answer(const compare::Comparison& comparison) {
    if (!comparison.first_bad) return;
    const auto place = suspects_.find(*comparison.first_bad);
    if (!place) return;
    const auto executes = [&](const Finding& finding) {
      return std::ranges::find(finding.executions, *place) != finding.executions.end();
    };
    if (std::ranges::any_of(answer_.findings, executes)) return;
    const bool comes_later =
        !answer_.findings.empty() && answer_.findings.front().executions.front() < *place;
    if (const bool is_explained = explained_.contains(*place); is_explained || comes_later)
      answer_.notes.push_back("compare names " + one_line(operator_name(comparison.first_bad->run())) +
                              (is_explained ? ": run again with what it read, it gives what is recorded"
                                            : ", which runs after the culprit"));
  }

  Result<> conclude(compare::Comparison& comparison) {
    precision_.settle(answer_);
    blame_accused(comparison);
    if (blame_sequence(suspects_, inputs_, comparison, findings_) == Singles::harmless && !gains_.applies())
      answer_.notes.push_back(counted(inputs_.singles().size(), "operator", "are") +
                              " in one run only, and change nothing beyond rounding");
    excuse_unread();
    excuse_other_ways(comparison);
    blame_first_bad(comparison);
    OPDUMP_CHECK_OK(blame_substituted(comparison));
    OPDUMP_CHECK_OK(rank_culprits(answer_, suspects_.all(), inputs_.read(), options_.replay, options_.limit));
    for (const auto& [reason, count] : reasons_)
      answer_.not_replayed.push_back(counted(count, "operator") + ": " + reason);
    const auto is_unchecked = [](const auto& of) { return !of.second.reads_checked; };
    if (!answer_.findings.empty() && answer_.findings.front().error &&
        std::ranges::any_of(actual_.statuses(), is_unchecked))
      answer_.notes.push_back(
          "inputs are assumed to be unchanged since they were written: opdump run --check-reads looks");
    if (suspects_.left_out() > 0)
      answer_.notes.push_back(counted(suspects_.left_out(), "differing operator") + " were not looked at");
    for (const auto& [difference, name] : harmless_)
      if (answer_.findings.empty() && answer_.notes.size() < kMaxNotes)
        answer_.notes.push_back("in " + one_line(name) + ", " + one_line(difference) +
                                ": that changes nothing beyond rounding");
    answer_.incomplete = comparison.incomplete;
    note_other_answer(comparison);
    for (const compare::Note& note : comparison.notes)
      if (note.rule != compare::kWhereValuesPart.name) answer_.notes.push_back(note.text);
    if (!answer_.findings.empty()) {
      answer_.outcome = BlameOutcome::differs;
      OPDUMP_TRY(answer_.chain,
                 describe_chain(suspects_.all(), answer_.findings.front().op.run(), options_.replay));
    } else {
      const bool is_open = (!reasons_.empty() || suspects_.left_out() > 0) &&
                           (comparison.outcome != compare::Answer::same || suspects_.are_by_gains());
      answer_.is_examined = comparison.outcome != compare::Answer::nothing_compared && !is_open;
      const bool is_whole = answer_.is_examined && comparison.incomplete.empty();
      answer_.outcome = !is_whole               ? BlameOutcome::incomplete
                        : answer_.differing > 0 ? BlameOutcome::rounding
                                                : BlameOutcome::same;
    }
    return ok();
  }

  const dump::DumpSet &golden_, &actual_;
  const BlameOptions& options_;
  GainSearch gains_;
  Suspects suspects_;
  BlameAnswer answer_;
  FindingLog findings_;  // of answer_
  InputSearch inputs_;
  std::uint64_t replayed_singles_ = 0;
  std::set<std::uint32_t> explained_;               // that rounding explains, run again
  std::map<std::string, std::uint64_t> reasons_;    // not to replay
  std::map<std::string, std::string> first_ended_;  // by reason: the first operator's name
  std::map<std::string, std::string> harmless_;     // arguments that differ, and the first operator's name
  std::set<std::tuple<std::string, std::string, std::string>> causes_;  // by module, type and difference
  SumPrecision precision_;
  std::optional<compare::MatrixUnits> golden_units_, actual_units_;  // see Comparison
};

}  // namespace

Result<BlameAnswer> find_blame(const dump::DumpSet& golden, const dump::DumpSet& actual,
                               const BlameOptions& options, compare::Comparison& comparison) {
  if (compare::ShardedRuns::find(golden.runs(), actual.runs()))
    return judge_by_comparison(golden, actual, options.compare, comparison);
  return Trial(golden, actual, options).run(comparison);
}

}  // namespace opdump::blame
