// From slots to operators to the whole: who is at fault, who comes first, what the shell should see.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/facts/unfinished.h"
#include "compare/rules/equivalence.h"
#include "compare/rules/gains/gain_judge.h"
#include "compare/rules/quantisation_steps.h"
#include "compare/rules/rounding/rounding.h"

namespace opdump::compare {

// What the slots of an operator say together.
struct Evidence {
  struct OfSide {
    bool differs = false, is_unpaired = false, is_unreadable = false, is_compared = false;
  };
  OfSide inputs, outputs;
  bool has_slots = false;
};

// Adds the slots of an operator. A slot that is absent from an unfinished recording
// becomes unreadable; one that is absent from a silent dump, and has no data in the other, skipped.
void add_evidence(OperatorComparison& op, const Unfinished& unfinished, Evidence& evidence);

// Sets the operator's verdict, and separates the differences of its slots (see Verdict): outputs that
// differ get the operator's verdict, inputs input_differs.
void judge_operator(OperatorComparison& op, const Evidence& evidence);

// Judges operators one after the other, in the order of CompareOptions::take, and keeps what they say
// together.
class Judge {
 public:
  // `gains`: how much differences grow counts.
  explicit Judge(Unfinished unfinished, RoundingJudge rounding = RoundingJudge(false),
                 std::optional<GainJudge> gains = {})
      : unfinished_(std::move(unfinished)), gains_(std::move(gains)), rounding_(std::move(rounding)) {}
  void judge(OperatorComparison& op);
  // Which operators only one side has, as numbers of calls of judge, so that they are the difference unless
  // the other side has what they make; none if the output of another operator differs, or none has a partner.
  std::span<const std::size_t> open_singles() const;
  std::span<const std::size_t> all_singles() const { return singles_; }
  // The first of open_singles whose results the other side lacks, if any; the others are no difference.
  void settle_singles(std::optional<OperatorComparison> first);
  // Which operators of both sides hand on a difference, if those and operators that only one side has are all
  // that is bad: no difference if these together are another way to compute the same.
  std::span<const OpenPair> open_pairs() const;
  void excuse_pairs();
  // The first operators that read a difference behind the first bad one, if that reads nothing and has an
  // output of another shape: the size may follow from what these read.
  std::span<const OperatorComparison> readers_behind_maker() const { return readers_; }
  double noise() const { return gains_ ? std::max(rounding_.noise(), gains_->noise()) : rounding_.noise(); }
  const std::optional<GainJudge>& gains() const { return gains_; }
  // Everything of `comparison` but notes and `incomplete`, which must be filled in already.
  void conclude(Comparison& comparison);

 private:
  void find_cause(OperatorComparison& op) const;
  void count(const OperatorComparison& op);
  void conclude_gains();
  void count_slots(const OperatorComparison& op);
  void note_bad(const OperatorComparison& op, bool reads_rounding);

  Unfinished unfinished_;
  std::optional<GainJudge> gains_;
  Comparison so_far_;
  bool measured_difference_ = false, open_question_ = false;
  RoundingJudge rounding_;
  QuantisationJudge quantisation_;
  std::optional<std::uint32_t> rank_;      // of the first
  std::optional<std::uint32_t> fed_rank_;  // the last one that got a difference from another rank
  std::optional<std::int64_t> last_step_;
  struct FirstBad {
    std::optional<OperatorComparison> op = {};
    UnpairedOperators before = {};
    std::string view = {};                          // Comparison::view_before_first_bad
    std::optional<OperatorComparison> single = {};  // by which it may be explained
    std::string excess = {};                        // GainJudge::excess
    bool is_handed_on = false;                      // by another rank
  };
  FirstBad first_bad_, first_paired_;  // of all, of those that both sides have
  std::vector<OperatorComparison> readers_;
  std::vector<std::size_t> singles_;
  std::vector<OpenPair> open_pairs_;
  bool has_other_pairs_ = false;  // that are bad
  std::size_t judged_ = 0;
  UnpairedOperators unpaired_;                // that came last, of that step
  std::string view_;                          // with other arguments, the last one of that step
  std::optional<OperatorComparison> single_;  // the first of these that computes, where gains count
};

}  // namespace opdump::compare
