// Which differences are no more than what the rounding of earlier operators grows to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "compare/comparison.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/rules/rounding/flips.h"
#include "compare/rules/rounding/rewritten_results.h"

namespace opdump::compare {

// Sees operators one after the other, in the order of CompareOptions::take.
class RoundingJudge {
 public:
  // `has_types`: one run computes in other types than the other one throughout.
  explicit RoundingJudge(bool has_types, RewrittenResults rewritten = {})
      : has_types_(has_types), rewritten_(std::move(rewritten)) {}

  // Makes Verdict::rounding of an output that differs by no more than what the small differences of its
  // inputs can grow to, and of those inputs. Inputs count if an earlier operator made a difference of that
  // size: those of weights and data do not. What is left of terms that cancel is compared with the terms.
  // Where an operator can be computed again, it is. Returns whether the inputs differ by no more than
  // rounding.
  bool excuse(OperatorComparison& op);

  // The largest relative L2 distance of an output so far that counts as rounding.
  double noise() const { return noise_; }
  // Says how many choices between equal numbers differ; empty if none.
  std::string describe_flips() const;

 private:
  // How much the slots of an operator differ, relative L2: the largest of each.
  struct Distances {
    double input = 0, output = 0;
    double fresh_input = 0;                             // of inputs that are not known
    double flipped_input = 0;                           // of inputs that follow from another choice
    bool is_small = true, is_small_input = true;        // no more than rounding
    bool has_cancelled = false, has_amplified = false;  // inputs that are known: in cancelled_, amplified_

    bool has_known() const { return has_cancelled || has_amplified; }
  };
  Distances measure(const OperatorComparison& op, bool is_open) const;
  // How much `slot` may differ.
  double limit_of(const SlotComparison& slot, const Distances& distances) const;
  bool is_flip(const OperatorComparison& op, const Distances& distances) const;
  // `chooses`: it made the choice, and does not only read what follows from one.
  void excuse_flip(OperatorComparison& op, bool chooses);
  // Of an output that has not just grown: what reads it may differ as much. `amplified`: both runs computed
  // it right.
  void excuse_slots(OperatorComparison& op, const Distances& distances, bool is_grown,
                    std::optional<bool> amplified);
  void raise_noise(const OperatorComparison& op, double output);
  // By what modules made of which no operator is in both runs.
  void raise_noise_of_modules(const OperatorComparison& op);

  bool has_types_;
  RewrittenResults rewritten_;
  CancelledTensors cancelled_;
  CancelledTensors amplified_;  // outputs of masks and divisions, and what follows from them
  Flips flips_;
  std::uint64_t flip_count_ = 0;
  std::string first_flip_;
  double noise_ = 0;
  // The largest distance that may be made: what bfloat16 has rounded stays as coarse when it is float32.
  double limit_ = 0;
  double passed_on_ = 0;  // the largest one that was
};

}  // namespace opdump::compare
