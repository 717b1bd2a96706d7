// Where dumps have no tensors of inputs, differences of rounding cannot be told by the inputs of an operator.
// They are those that grow no more than usual.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "compare/comparison.h"
#include "compare/rules/gains/gains.h"

namespace opdump::compare {

// Whether both dumps have a tensor that an operator reads: then gains do not count.
bool have_input_tensors(const dump::Runs& golden, const dump::Runs& actual);

class GainJudge {
 public:
  // `are_alike`: the runs may be the same to the last bit.
  explicit GainJudge(bool are_alike) : are_alike_(are_alike) {}

  // Takes operators in golden's order of execution, with a verdict. Until one is bad, differences that grew
  // as usual become rounding; behind it they are inherited.
  void judge(OperatorComparison& op);

  // The largest relative difference of an output so far that is rounding.
  double noise() const { return noise_; }
  // Numbers of elements of tensors of which only rounding is left: the gradient of a bias before a batch
  // norm.
  const std::set<std::uint64_t>& uncertain() const { return uncertain_; }
  std::uint64_t rounding_count() const { return rounding_count_; }
  // Of the last operator, if it differs by more than usual: "output.0: it differs 90 times as much as ...".
  const std::string& excess() const { return excess_; }

 private:
  void note_uncertain(const OperatorComparison& op, std::span<const Gain> gains);
  void note_excess(const OperatorComparison& op, std::span<const Gain> gains);
  void set_rounding(OperatorComparison& op, std::span<const Gain> gains);

  const bool are_alike_;
  GainMeter meter_;
  std::uint32_t rank_ = 0;
  double noise_ = 0;
  std::uint64_t rounding_count_ = 0;
  std::set<std::uint64_t> uncertain_;
  std::string excess_;
  bool has_difference_ = false, has_bad_ = false;  // in this rank so far
};

}  // namespace opdump::compare
