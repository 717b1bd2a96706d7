// What rules have concluded, and what they tell each other. The answer is a function of it: first_bad().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/facts/unfinished.h"
#include "compare/rules/forward_cover.h"
#include "compare/rules/rounding/error_bounds.h"

namespace opdump::compare {

// An operator of both runs that only hands on a difference: it may be another one in each run.
struct OpenPair {
  std::size_t place = 0;                                        // in the pairs
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inputs;  // that differ, by index: of golden, of actual
  bool agrees = false;                                          // its outputs do
};

// What a pair of operators says of the tensors that it reads.
enum class Agreement : std::uint8_t {
  none,    // nothing of it was compared
  agrees,  // it has a tensor that was compared, and all that were agree
  differs,
};

// The accusation that stands: each one takes the place of the one before it where its rule says so.
const Accusation* first_bad(std::span<const Accusation> accusations);

// Whether an operator is bad. Absence is a difference only where the other side recorded that step, and was
// recorded to its end.
bool is_bad(const OperatorComparison& op, const Unfinished& unfinished);

// Returns the operator with the verdicts that it and its slots had before other operators excused it.
OperatorComparison as_measured(OperatorComparison op);

class Ledger {
 public:
  // `by_gains`: see Study.
  explicit Ledger(Unfinished unfinished = {}, bool by_gains = false)
      : unfinished_(std::move(unfinished)), by_gains_(by_gains) {}

  // ---- While operators are looked at.

  // Returns the place of the pair that is looked at.
  std::size_t next_place() const { return next_place_; }
  void set_next_place(std::size_t place) { next_place_ = place; }
  // Takes an operator of the pair at `place` that has its verdict. Whether it is the most urgent one so far.
  bool add(const OperatorComparison& op, std::size_t place);

  // The most urgent bad operator: with an output that differs before others, then that of the lowest step,
  // then in golden's order; null if none is bad.
  const Accusation* most_urgent() const { return all_ ? &*all_ : nullptr; }

  // The largest relative L2 distance of an output that counts as rounding.
  double noise() const { return noise_; }
  void raise_noise(double distance) { noise_ = std::max(noise_, distance); }
  // Numbers of elements of tensors of which only rounding is left, where differences are judged by gains.
  const std::set<std::uint64_t>& uncertain() const { return uncertain_; }
  void add_uncertain(std::uint64_t elements) { uncertain_.insert(elements); }

  // How far off what operators have made may be, by those that are settled; null where that is not followed.
  ErrorBounds* bounds() const { return bounds_.get(); }
  void follow(std::unique_ptr<ErrorBounds> bounds) { bounds_ = std::move(bounds); }

  // ---- When all have been looked at.

  Agreement agreement(std::size_t place) const {
    return place < agreements_.size() ? agreements_[place] : Agreement::none;
  }

  // Places of operators that only one run has, so that they are the difference unless the other run has what
  // they make, ascending; and those of them that still matter: none if an output of another operator differs,
  // or nothing is paired.
  std::span<const std::size_t> singles() const { return singles_; }
  std::span<const std::size_t> open_singles() const;
  // Operators of both runs that hand on a difference, if those and singles are all that is bad.
  std::span<const OpenPair> open_pairs() const;

  // Places of operators of both runs that are perhaps others in each run, as their tensors have other sizes
  // or they cast other tensors, if those and singles are all that is bad: what follows from them agrees.
  std::span<const std::size_t> loose_pairs() const {
    return has_firm_pairs_ ? std::span<const std::size_t>() : loose_pairs_;
  }

  // `rule` found that the singles are no difference, but those at `lacking`, of which `first` is the first.
  void settle_singles(std::string_view rule, std::span<const std::size_t> lacking,
                      std::optional<Accusation> first);
  // `rule` found that the open pairs, or the loose ones, and with them the singles, are no difference.
  void excuse_all(std::string_view rule);
  // Operators that are excused may be bad after all: rows wait until that is known.
  void hold_rows() { are_held_ = true; }
  void release_rows() { are_held_ = false; }
  // Operators at `places` are bad after all; `first`, at `first_place`, is the most urgent of them as it was
  // measured.
  void take_back(const OperatorComparison& first, std::size_t first_place,
                 std::span<const std::size_t> places);
  // Whether the open pairs and the singles have been settled.
  bool is_settled() const { return is_settled_; }
  // Whether rows may still change, so that they must wait.
  bool may_revise() const {
    const bool differs = all_ && has_bad_output(all_->op.verdict);
    if (rows_are_final_) return false;
    return are_held_ ||
           (!is_settled_ && (!open_pairs().empty() || (!loose_pairs_.empty() && !has_firm_pairs_) ||
                             (!singles_.empty() && !differs)));
  }
  // There are too many rows for them to wait: they stay as they are, whatever is settled.
  void close_rows() { rows_are_final_ = true; }
  // Gives an operator of the pair at `place` the verdict that was settled since it was added.
  void revise(OperatorComparison& op, std::size_t place) const;
  void accuse(Accusation accusation) { accusations_.push_back(std::move(accusation)); }
  std::span<const Accusation> accusations() const { return accusations_; }
  const Accusation* first_bad() const { return compare::first_bad(accusations_); }
  // The accusation that stands, to add what explains it; null if there is none.
  Accusation* standing();

  ForwardCover& cover() { return cover_; }

  void note(std::string_view rule, std::string text) { notes_.push_back({rule, std::move(text)}); }
  std::vector<Note>& notes() { return notes_; }

  // ---- What is final.

  // Counts an operator whose row is given to the user.
  void count(const OperatorComparison& op);
  // Everything of `comparison` but the notes before, and `incomplete`, which must be filled in already.
  void conclude(Comparison& comparison) &&;

 private:
  Unfinished unfinished_;
  bool by_gains_ = false;
  Comparison counts_;
  ForwardCover cover_;
  bool measured_difference_ = false, open_question_ = false;
  std::optional<std::uint32_t> rank_;      // of the first
  std::optional<std::uint32_t> fed_rank_;  // the last one that got a difference from another rank
  std::optional<std::int64_t> last_step_;
  std::optional<Accusation> all_, paired_;  // the most urgent ones: of all, of those of both runs
  std::size_t next_place_ = 0;
  std::uint64_t paired_count_ = 0;
  std::vector<Agreement> agreements_;  // by place
  std::vector<std::size_t> singles_;
  std::vector<OpenPair> open_pairs_;
  bool has_other_pairs_ = false;  // that are bad
  std::vector<std::size_t> loose_pairs_;
  bool has_firm_pairs_ = false;  // that are bad
  bool is_settled_ = false, rows_are_final_ = false;
  std::string_view settled_by_ = {};
  bool pairs_are_excused_ = false;
  std::set<std::size_t> lacking_;
  bool are_held_ = false;
  std::set<std::size_t> taken_back_;
  UnpairedOperators unpaired_;        // that came last, of that step
  std::optional<Accusation> single_;  // the first of these that computes, where gains count
  double noise_ = 0;
  std::set<std::uint64_t> uncertain_;
  std::unique_ptr<ErrorBounds> bounds_;
  std::vector<Accusation> accusations_;
  std::vector<Note> notes_;
};

}  // namespace opdump::compare
