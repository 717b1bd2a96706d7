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
#include "blame/chain.h"
#include "blame/copies.h"
#include "blame/culprits.h"
#include "blame/differences.h"
#include "blame/dummy_data.h"
#include "blame/gains/gain_search.h"
#include "blame/one_sided.h"
#include "blame/origin.h"
#include "blame/precision.h"
#include "blame/request.h"
#include "blame/unread.h"
#include "compare/content.h"
#include "compare/equivalence.h"
#include "compare/gains/gain_judge.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/runs/environment.h"
#include "compare/sharded/pair_shards.h"
#include "compare/verdict/arguments.h"

namespace opdump::blame {
namespace {

using compare::elements_of;
using compare::one_line;
using compare::operator_name;
using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

constexpr std::size_t kMaxSuspects = 1 << 16;  // that are kept of a comparison
constexpr std::size_t kMaxNotes = 8;           // when those about harmless arguments are added

class Walk {
 public:
  Walk(const dump::DumpSet& golden, const dump::DumpSet& actual, const BlameOptions& options)
      : golden_(golden),
        actual_(actual),
        options_(options),
        gains_(!compare::describe_environments(golden, actual)),
        copies_(actual.runs()),
        produced_(options.compare.threads) {}

  Result<BlameAnswer> walk(compare::Comparison& comparison) {
    OPDUMP_CHECK_OK(collect(comparison));
    Ahead ahead(suspects_, options_.expect, options_.limit);
    std::uint32_t i = 0;
    for (; i < suspects_.size() && certain_ == 0; ++i) {
      ahead.look_beyond(i, answer_.replayed);
      OPDUMP_CHECK_OK(examine(i));
    }
    if (has_other_shapes_) i = static_cast<std::uint32_t>(suspects_.size());  // nothing else can be compared
    const std::set<std::uint32_t> further = choose_further(suspects_, i);
    for (; i < suspects_.size(); ++i) {
      ahead.look_beyond(i, answer_.replayed, &further);
      OPDUMP_CHECK_OK(examine_further(i, further.contains(i)));
    }
    OPDUMP_CHECK_OK(conclude(comparison));
    return std::move(answer_);
  }

 private:
  Result<> collect(compare::Comparison& comparison) {
    compare::CompareOptions options = options_.compare;
    options.take = [&](const OperatorComparison& op) {
      if (options_.compare.take) options_.compare.take(op);
      by_gains_ |= op.before_gains.has_value();
      op.before_gains ? take(compare::without_gains(op)) : take(op);
    };
    OPDUMP_TRY(comparison, compare::compare_dumps(golden_, actual_, options));
    for (const OperatorComparison& op : suspects_) {
      if (is_paired(op) || compare::only_moves(op.run().type)) continue;
      op.golden ? rewritten_.add_golden(*op.golden) : rewritten_.add_actual(*op.actual);
    }
    return ok();
  }

  void take(const OperatorComparison& op) {
    ++answer_.compared;
    if (op.is_alone || op.verdict == Verdict::skipped) return;
    const bool has_output = differs(op, model::Side::output);
    answer_.differing += has_output || op.verdict == Verdict::rounding;
    const bool enlarges = gains_.add(op, static_cast<std::uint32_t>(suspects_.size()));
    if (!has_output && !enlarges && !differs(op, model::Side::input) && is_paired(op)) return note_equal(op);
    if (suspects_.size() < kMaxSuspects)
      suspects_.push_back(op);
    else
      ++left_out_;
  }

  // The runs do the same again, after what differs.
  void note_equal(const OperatorComparison& op) {
    const auto is_output = [](const auto& slot) { return compare::side_of(slot) == model::Side::output; };
    if (suspects_.empty() || std::ranges::none_of(op.slots, is_output)) return;
    const dump::OperatorRun& last = suspects_.back().run();
    if (last.rank == op.run().rank && last.step == op.run().step)
      before_equal_.insert(static_cast<std::uint32_t>(suspects_.size()) - 1);
  }

  // A finding about the operator `i`.
  Finding& add(std::uint32_t i, Cause cause, Confidence confidence, std::string slot, std::string why) {
    Finding& finding = answer_.findings.emplace_back();
    finding.cause = cause;
    finding.confidence = confidence;
    finding.op = suspects_[i];
    finding.executions = {i};
    certain_ += confidence == Confidence::certain;
    finding.slot = std::move(slot);
    finding.why = std::move(why);
    return finding;
  }

  Result<> examine(std::uint32_t i) {
    const OperatorComparison& op = suspects_[i];
    if (!is_paired(op)) return examine_single(i);
    if (differs(op, model::Side::output)) OPDUMP_CHECK_OK(examine_outputs(i));
    OPDUMP_CHECK_OK(examine_gains(i));
    note_outputs(i);
    return ok();
  }

  Result<> examine_gains(std::uint32_t i) {
    if (!gains_.applies() || !answer_.findings.empty()) return ok();  // which explain what follows
    OPDUMP_TRY(const auto found, gains_.look(suspects_, i, before_equal_, options_.replay));
    if (found) add(found->place, found->cause, Confidence::suspect, found->slot, found->why);
    return ok();
  }

  Result<> examine_outputs(std::uint32_t i) {
    const OperatorComparison& op = suspects_[i];
    const std::size_t before = certain_;
    std::optional<Replayed> replayed;
    const auto difference = compare::find_argument_difference(*op.golden, *op.actual);
    const bool is_another = difference && is_rewritten(op, *difference);
    if (difference && difference->is_type) {
      if (distance_of(op) > kLargestRounding)
        add(i, Cause::sequence, Confidence::certain, {}, difference->text);
    } else if (difference && !is_another) {
      const std::tuple cause(compare::module_of(*op.golden), op.golden->type, difference->text);
      if (!causes_.contains(cause)) {
        OPDUMP_TRY(replayed, replay(i, {.argues = true}));
      }
      blame_argument(i, difference->text, replayed);
      if (certain_ > before) causes_.insert(cause);
    }
    if (std::string why = why_another_integer(op); !why.empty())
      add(i, Cause::argument, Confidence::certain, output_name(op), std::move(why));
    look_at_inputs(i, certain_ == before && !is_another);
    if (certain_ > before) return ok();
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
        look_at_inputs(i, true);
      }
    }
    note_outputs(i);
    return ok();
  }

  // One of several operators by which a module computes the same in two ways: it has other arguments
  // because it is another one.
  bool is_rewritten(const OperatorComparison& op, const compare::ArgumentDifference& difference) const {
    return rewritten_.contains(*op.golden) && std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
             return compare::side_of(slot) == model::Side::input && slot.golden != nullptr &&
                    !difference.constants.contains(slot.golden->index) && is_beyond_rounding(slot);
           });
  }

  // Arguments may differ and mean the same: the types of another precision, the axes of another shape.
  void blame_argument(std::uint32_t i, const std::string& difference,
                      const std::optional<Replayed>& replayed) {
    if (!replayed || !replayed->is_done)
      return static_cast<void>(add(i, Cause::argument, Confidence::certain, {}, difference));
    if (replayed->argument.empty() && distance_of(suspects_[i]) > kLargestRounding)
      add(i, Cause::argument, Confidence::suspect, {}, difference);
    if (find_excess(replayed->argument).factor > 1)
      add(i, Cause::argument, Confidence::certain, {}, difference);
    else if (!replayed->argument.empty())
      harmless_.emplace(difference, operator_name(*suspects_[i].golden));
  }

  // ---- Inputs.

  // Which operators it reads from, and, if `blames`, whether an input comes from none.
  void look_at_inputs(std::uint32_t i, bool blames) {
    const OperatorComparison& op = suspects_[i];
    for (const SlotComparison& slot : op.slots) {
      if (compare::side_of(slot) != model::Side::input || !differs(slot)) continue;
      auto producer = produced_.find(*slot.actual, norm_of(slot));
      const bool is_whole = producer.has_value();  // a part in 16 bits may have its numbers by chance
      if (!producer) producer = produced_.find_known_part(*slot.actual);
      std::vector<std::uint64_t> actual, golden;
      if (!producer) {
        actual = elements_of(*slot.actual), golden = elements_of(*slot.golden);
        if (actual.empty()) continue;
        producer = produced_.find_part(actual, golden);
      }
      const bool is_to_blame = !producer && blames && !op.is_quantised;  // else what quantises lies between
      auto maker = is_to_blame ? find_producer(actual_.runs(), *op.actual, actual) : std::nullopt;
      // A later one, where actual runs operators in another order than golden; or of a few elements.
      if (maker) producer = find_suspect(*maker);
      // Many operators make zeros, and memory that was never filled has them.
      if (std::ranges::all_of(actual, [&](std::uint64_t x) { return x == actual.front(); })) maker.reset();
      if (producer) {
        read_.insert(*producer);
        if (maker && *producer > i) note_later_maker(i, slot, golden, *producer);
        if (blames && is_whole && !op.is_quantised && blame_copied_data(i, slot, *producer)) continue;
        if (blames && is_beyond_rounding(slot)) note_feeder(op, *producer);
      } else if (is_to_blame) {
        if (maker && note_other_maker(i, slot, golden, *maker)) continue;
        golden.size() == actual.size() ? blame_input(i, slot, golden, actual, maker)
                                       : blame_shape(i, slot, golden, actual);
        produced_.add(i, std::move(actual));  // others that read it are not to blame again
      }
    }
  }

  // Whether actual reads a copy of data that differ, as golden reads its data.
  bool blame_copied_data(std::uint32_t i, const SlotComparison& slot, std::uint32_t copy) {
    const auto type = copies_.type_of_data(copy);
    // In a later step, golden may have a weight that was updated, where actual's update was rounded away.
    const bool is_same_step = suspects_[copy].run().step == suspects_[i].run().step;
    if (!type || !is_same_step || is_rounded(slot, *type)) return false;
    blame_input(i, slot, elements_of(*slot.golden), elements_of(*slot.actual), std::nullopt);
    copies_.settle(copy);
    return true;
  }

  // In the backward pass, gradients that are added in another order come from other operators, too.
  void note_feeder(const OperatorComparison& reader, std::uint32_t producer) {
    const bool is_open = !feeder_ && reader.run().op != nullptr &&
                         reader.run().op->phase != model::Phase::backward &&
                         !rewritten_.contains(*reader.golden);
    if (is_open && !is_paired(suspects_[producer]) && !copies_.are_of_both(producer)) feeder_ = producer;
  }

  // No operator made what the two runs do not share.
  void blame_input(std::uint32_t i, const SlotComparison& slot, const std::vector<std::uint64_t>& golden,
                   const std::vector<std::uint64_t>& actual, const std::optional<dump::OperatorRun>& maker) {
    if (is_rounded(slot)) return;
    const std::string name = compare::slot_name(slot);
    const auto producer = find_producer(golden_.runs(), *suspects_[i].golden, golden);
    if (producer && blame_single(i, *producer)) return;
    if (compare::fingerprint_of(golden) == compare::fingerprint_of(actual)) {
      add(i, Cause::input, Confidence::certain, name,
          "it has golden's elements in another order (transposed?)");
      return;
    }
    if (producer && golden.size() > 1 && !suspects_[i].is_across) {  // else by chance, or loaded there
      const std::string made_by = one_line(operator_name(*producer));
      if (maker &&
          find_producer(actual_.runs(), *suspects_[i].actual, compare::other_elements(actual, golden)))
        add(i, Cause::input, Confidence::certain, name, "it is another part of what " + made_by + " made");
      else
        add(i, Cause::overwritten, Confidence::certain, name,
            "its memory was changed after " + made_by + " had made it, and by no recorded operator");
      return;
    }
    if (comes_after_a_gap(suspects_[i])) return;
    const double distance = slot.metrics ? slot.metrics->relative_l2 : 0;
    const bool is_large = !slot.metrics || distance > 100 * compare::default_tolerance(slot.dtype).rtol;
    add(i, Cause::input, is_large || produced_nothing_ ? Confidence::certain : Confidence::suspect, name,
        explain_data(golden_.runs(), *suspects_[i].golden, slot, golden, actual));
  }

  // Whether steps between a culprit and this operator were not recorded: they have changed the weights.
  bool comes_after_a_gap(const OperatorComparison& reader) const {
    const std::int64_t step = reader.golden->step;
    const auto is_earlier = [&](const Finding& finding) {
      return finding.confidence == Confidence::certain && finding.op.run().step < step;
    };
    return std::ranges::any_of(answer_.findings, is_earlier) &&
           !has_step(golden_.runs(), reader.golden->rank, step - 1);
  }

  // The first of these explains all others, as another batch does.
  void blame_shape(std::uint32_t i, const SlotComparison& slot, const std::vector<std::uint64_t>& golden,
                   const std::vector<std::uint64_t>& actual) {
    if (has_other_shapes_ || !slot.golden->shape || !slot.actual->shape) return;
    has_other_shapes_ = true;
    add(i, Cause::input, Confidence::certain, compare::slot_name(slot),
        "no recorded operator made it, and it is " + model::format_shape(*slot.golden->shape) +
            " in golden and " + model::format_shape(*slot.actual->shape) + " in actual" +
            describe_dummy(*slot.golden, golden, *slot.actual, actual));
  }

  // What actual reads is made by an operator that comes later in golden: another order, or another operator.
  void note_later_maker(std::uint32_t i, const SlotComparison& slot, const std::vector<std::uint64_t>& golden,
                        std::uint32_t producer) {
    if (is_paired(suspects_[producer])) note_other_maker(i, slot, golden, *suspects_[producer].golden);
  }

  // Whether actual reads what `maker` made, as golden did, and golden reads what another one made.
  bool note_other_maker(std::uint32_t i, const SlotComparison& slot, const std::vector<std::uint64_t>& golden,
                        const dump::OperatorRun& maker) {
    // They compute the same of other tensors, or what follows them differs.
    if (rewritten_.contains(*suspects_[i].golden)) return true;
    const auto other = find_producer(golden_.runs(), *suspects_[i].golden, golden);
    if (!other || are_one(*other, maker)) return false;
    if (!blame_single(i, *other))
      rewired_.emplace(i, "given what " + one_line(operator_name(maker)) + " made as " +
                              compare::slot_name(slot) + ", in golden what " +
                              one_line(operator_name(*other)) + " made");
    return true;
  }

  // If actual lacks the operator that made what the operator `i` of golden reads.
  bool blame_single(std::uint32_t i, const dump::OperatorRun& producer) {
    const auto single = find_single(producer);
    if (single)
      add(*single, Cause::sequence, Confidence::certain, {},
          "only in golden, where " + one_line(operator_name(*suspects_[i].golden)) + " reads what it makes");
    return single.has_value();
  }

  // An operator of actual, by its place in suspects_.
  std::optional<std::uint32_t> find_suspect(const dump::OperatorRun& run) const {
    for (std::uint32_t i = 0; i < suspects_.size(); ++i)
      if (const auto& actual = suspects_[i].actual; actual && are_one(*actual, run)) return i;
    return std::nullopt;
  }

  // An operator of golden that actual lacks, by its place in suspects_.
  std::optional<std::uint32_t> find_single(const dump::OperatorRun& run) const {
    for (const std::uint32_t i : singles_)
      if (const auto& golden = suspects_[i].golden; golden && are_one(*golden, run)) return i;
    return std::nullopt;
  }

  // What actual made and golden did not.
  void note_outputs(std::uint32_t i) {
    copies_.note(suspects_, i, produced_);
    for (const SlotComparison& slot : suspects_[i].slots) {
      if (!is_only_in_actual(slot) || compare::side_of(slot) != model::Side::output) continue;
      produced_.add(i, *slot.actual, norm_of(slot));
      produced_nothing_ = false;
    }
  }

  // ---- Replay.

  void cannot_replay(std::uint32_t i, const std::string& reason) {
    ++reasons_[reason];
    const OperatorComparison& op = suspects_[i];
    if (certain_ > 0 || gains_.applies() || !has_own_error(op)) return;
    const bool has_inputs = std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
      return compare::side_of(slot) == model::Side::input && slot.verdict == Verdict::match;
    });
    if ((!has_inputs || op.is_across) && !answer_.findings.empty()) return;  // which explains it
    add(i, Cause::unknown, Confidence::suspect, output_name(op),
        (has_inputs ? "its inputs match, and it cannot be run again: "
                    : "it is the first one that does, and it cannot be run again: ") +
            reason);
  }

  // Nothing if it cannot be run again, and why is noted. Where the runs execute different functions, each is
  // run by itself, and only its errors are known.
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
    if (!differs(op, model::Side::input) && distance_of(op) > kLargestRounding)
      add(i, Cause::random, Confidence::suspect, output_name(op), why_random(op)).weight = 1;
  }

  void blame_error(std::uint32_t i, const Replayed& replayed) {
    precision_.note(replayed);
    const Judgement judgement = judge(replayed);
    if (judgement.fault == Fault::common)
      ++reasons_["both runs are off by the same: it computes something else"];
    if (judgement.fault == Fault::none && answer_.findings.empty() && computes_otherwise(suspects_[i]))
      add(i, Cause::unknown, Confidence::suspect, output_name(suspects_[i]), why_otherwise(suspects_[i]));
    if (judgement.fault == Fault::none || judgement.fault == Fault::common) return;
    const Cause cause = judgement.fault == Fault::actual   ? Cause::own_error
                        : judgement.fault == Fault::golden ? Cause::golden_at_fault
                                                           : Cause::both;
    // Whether a run computes all its sums with less precision is known at the end.
    const bool is_open = !judgement.excess.output->precision.empty();
    Finding& finding =
        add(i, cause, judgement.is_certain && !is_open ? Confidence::certain : Confidence::suspect,
            "output." + std::to_string(judgement.excess.output->index), judgement.excess.test);
    finding.error = *judgement.excess.output;
    finding.weight = judgement.excess.factor;
  }

  // An operator that only one side has: it can be wrong by itself, or its presence is the difference.
  Result<> examine_single(std::uint32_t i) {
    const OperatorComparison& op = suspects_[i];
    if (op.left_out.empty()) singles_.push_back(i);
    note_outputs(i);
    const bool is_golden = op.golden != nullptr;
    if (!op.left_out.empty() || op.run().slots.empty()) return ok();
    if (replayed_singles_ >= options_.limit / 4) return ok();  // a layer that one run computes in many steps
    const auto request = make_request(op.golden.get(), op.actual.get());
    if (!request || answer_.replayed >= options_.limit) return ok();  // which says nothing about it
    OPDUMP_TRY(const Replayed replayed, run_again(options_.replay, *request));
    if (!replayed.is_done) return ok();
    ++answer_.replayed;
    ++replayed_singles_;
    const Excess excess = find_excess(is_golden ? replayed.golden : replayed.actual);
    if (excess.factor <= 1) return ok();
    Finding& finding = add(i, is_golden ? Cause::golden_at_fault : Cause::own_error, Confidence::suspect,
                           "output." + std::to_string(excess.output->index), excess.test);
    finding.error = *excess.output;
    finding.weight = excess.factor;
    return ok();
  }

  // ---- The answer.

  void blame_sequence(const compare::Comparison& comparison) {
    if (!answer_.findings.empty() || (singles_.empty() && rewired_.empty()) || !comparison.first_bad) return;
    const OperatorComparison& bad = *comparison.first_bad;
    // With a cause, it was chosen for its reader.
    const bool is_single = !is_paired(bad) && bad.cause.empty();
    const auto first = is_single ? feeder_
                                 : find_sequence(suspects_, rewritten_, before_equal_, feeder_,
                                                 [&](std::uint32_t i) { return rewired_.contains(i); });
    if (!first) {
      const auto is_bad = [&](std::uint32_t i) { return are_one(suspects_[i].run(), bad.run()); };
      const auto lone = std::ranges::find_if(singles_, is_bad);
      if (is_single && lone != singles_.end() && answer_.differing == 0)
        add(*lone, Cause::sequence, Confidence::suspect, {},
            (bad.golden ? "only in golden" : "only in actual") +
                std::string(", and the other run has no such result"));
      else if (!singles_.empty() && !gains_.applies())
        answer_.notes.push_back(counted(singles_.size(), "operator") +
                                (singles_.size() == 1 ? " is" : " are") +
                                " in one run only, and change nothing beyond rounding");
      return;
    }
    if (const auto rewired = rewired_.find(*first); rewired != rewired_.end()) {
      add(*first, Cause::sequence, Confidence::suspect, {}, rewired->second + ", and what follows differs");
      return;
    }
    const bool is_golden = suspects_[*first].golden != nullptr;
    const auto other = find_in_its_place(suspects_, *first, before_equal_);
    add(*first, Cause::sequence, Confidence::suspect, {},
        std::string("only in ") + (is_golden ? "golden" : "actual") +
            (!other ? std::string()
                    : std::string(", where ") + (is_golden ? "actual" : "golden") + " has " +
                          one_line(suspects_[*other].run().type)) +
            ", and what follows differs");
  }

  // Data that differs and reaches no result is none's fault.
  void excuse_unread() {
    const auto is_certain = [](const Finding& f) { return f.confidence == Confidence::certain; };
    const auto found = std::ranges::find_if(answer_.findings, is_certain);
    const bool is_data = std::ranges::all_of(
        answer_.findings, [&](const Finding& f) { return !is_certain(f) || f.cause == Cause::input; });
    if (found == answer_.findings.end() || !is_data || has_other_shapes_ ||
        !ends_unread(actual_.runs(), suspects_, static_cast<std::uint32_t>(found->executions.front()), read_))
      return;
    answer_.notes.push_back(one_line(operator_name(found->op.run())) + " reads other values in " +
                            found->slot +
                            ", which no recorded operator made and no result depends on: padding?");
    std::erase_if(answer_.findings, is_certain);
  }

  Result<> conclude(compare::Comparison& comparison) {
    precision_.settle(answer_);
    if (const auto& missing = comparison.one_sided_backward)
      if (const auto place = settle_one_sided_backward(suspects_, *missing, answer_))
        add(*place, Cause::sequence, Confidence::certain, {}, missing->cause);
    if (const auto& first = comparison.first_bad)
      if (const auto place = settle_sizes(suspects_, *first, answer_))
        add(*place, Cause::sequence, Confidence::suspect, {}, first->cause);
    blame_sequence(comparison);
    excuse_unread();
    OPDUMP_CHECK_OK(rank_culprits(answer_, suspects_, read_, options_.replay, options_.limit));
    for (const auto& [reason, count] : reasons_)
      answer_.not_replayed.push_back(counted(count, "operator") + ": " + reason);
    const auto is_unchecked = [](const auto& of) { return !of.second.reads_checked; };
    if (!answer_.findings.empty() && answer_.findings.front().error &&
        std::ranges::any_of(actual_.statuses(), is_unchecked))
      answer_.notes.push_back(
          "inputs are assumed to be unchanged since they were written: opdump run --check-reads looks");
    if (left_out_ > 0)
      answer_.notes.push_back(counted(left_out_, "differing operator") + " were not looked at");
    for (const auto& [difference, name] : harmless_)
      if (answer_.findings.empty() && answer_.notes.size() < kMaxNotes)
        answer_.notes.push_back("in " + one_line(name) + ", " + one_line(difference) +
                                ": that changes nothing beyond rounding");
    answer_.incomplete = comparison.incomplete;
    std::ranges::copy(comparison.notes, std::back_inserter(answer_.notes));
    if (!answer_.findings.empty()) {
      answer_.outcome = BlameOutcome::differs;
      OPDUMP_TRY(answer_.chain,
                 describe_chain(suspects_, answer_.findings.front().op.run(), options_.replay));
    } else {
      const bool is_open =
          (!reasons_.empty() || left_out_ > 0) && (comparison.outcome != compare::Answer::same || by_gains_);
      const bool is_whole = comparison.outcome != compare::Answer::nothing_compared &&
                            comparison.incomplete.empty() && !is_open;
      answer_.outcome = !is_whole               ? BlameOutcome::incomplete
                        : answer_.differing > 0 ? BlameOutcome::rounding
                                                : BlameOutcome::same;
    }
    return ok();
  }

  const dump::DumpSet &golden_, &actual_;
  const BlameOptions& options_;
  BlameAnswer answer_;
  std::vector<OperatorComparison> suspects_;  // in golden's order of execution
  compare::RewrittenModules rewritten_;
  std::set<std::uint32_t> before_equal_;  // suspects that are followed by operators without a difference
  std::uint64_t left_out_ = 0;
  std::vector<std::uint32_t> singles_;  // in suspects_: only one side has them
  std::uint64_t replayed_singles_ = 0;
  // Of singles of actual, the first that made what an operator of both runs reads, which differs by much.
  std::optional<std::uint32_t> feeder_;
  GainSearch gains_;
  bool by_gains_ = false;                         // the comparison judges by them, which is no proof
  std::map<std::uint32_t, std::string> rewired_;  // that read what another operator made, with a text
  Copies copies_;
  compare::ContentIndex produced_;  // outputs of actual that differ, by their place in suspects_
  bool produced_nothing_ = true;
  bool has_other_shapes_ = false;  // data of other shapes goes into the run
  std::set<std::uint32_t> read_;   // those whose outputs another one reads, after the first culprit
  std::size_t certain_ = 0;        // findings
  std::map<std::string, std::uint64_t> reasons_;  // not to replay
  std::map<std::string, std::string> harmless_;   // arguments that differ, and the first operator's name
  std::set<std::tuple<std::string, std::string, std::string>> causes_;  // by module, type and difference
  SumPrecision precision_;
};

}  // namespace

Result<BlameAnswer> find_blame(const dump::DumpSet& golden, const dump::DumpSet& actual,
                               const BlameOptions& options, compare::Comparison& comparison) {
  // An operator that runs again on a rank's shard says nothing about the whole.
  if (compare::ShardedRuns::find(golden.runs(), actual.runs()))
    return Error(
        Code::unsupported,
        "one dump has more ranks than the other: blame needs as many on both sides; opdump compare names the "
        "operator and the rank");
  return Walk(golden, actual, options).walk(comparison);
}

}  // namespace opdump::blame
