// Blame looks at suspects: the operators by which two runs differ, in golden's order of execution.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "blame/gains/gain_search.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "compare/facts/rewritten.h"

namespace opdump::blame {

class Suspects {
 public:
  // Compares the dumps; `gains` gets all operators. Errors: those of compare_dumps.
  Result<compare::Comparison> collect(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                      compare::CompareOptions options, GainSearch& gains);

  std::span<const compare::OperatorComparison> all() const { return all_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(all_.size()); }
  const compare::OperatorComparison& operator[](std::uint32_t i) const { return all_[i]; }

  // The place of what `op` compares, and of an operator of one run, of which the other may have one that is
  // called the same.
  std::optional<std::uint32_t> find(const compare::OperatorComparison& op) const;
  std::optional<std::uint32_t> find_golden(const dump::OperatorRun& run) const;
  std::optional<std::uint32_t> find_actual(const dump::OperatorRun& run) const;

  const compare::RewrittenModules& rewritten() const { return rewritten_; }
  // Suspects that are followed by operators without a difference.
  const std::set<std::uint32_t>& before_equal() const { return before_equal_; }

  // The last view in the step of suspect `i`, and before it, that has other arguments, as
  // compare::describe_other_view() puts it; empty if there is none. Views move no data: no suspect is one.
  std::string_view view_before(std::uint32_t i) const;

  std::uint64_t compared() const { return compared_; }    // operators
  std::uint64_t differing() const { return differing_; }  // those with an output that is not the same
  std::uint64_t left_out() const { return left_out_; }    // as there are too many
  // Whether most operators make numbers of one type in both runs: another type is none of the run's.
  bool have_one_type() const { return 2 * of_other_type_ < compared_; }
  // The comparison judges by gains, which is no proof.
  bool are_by_gains() const { return by_gains_; }

 private:
  void take(const compare::OperatorComparison& op, GainSearch& gains);
  void note_equal(const compare::OperatorComparison& op);
  void note_view(const compare::OperatorComparison& op);

  std::vector<compare::OperatorComparison> all_;
  compare::RewrittenModules rewritten_;
  std::set<std::uint32_t> before_equal_;
  struct OtherView {
    std::uint32_t place;  // of the suspect after it
    std::uint32_t rank;
    std::int64_t step;
    std::string text;
  };
  std::vector<OtherView> views_;
  std::uint64_t compared_ = 0, differing_ = 0, left_out_ = 0, of_other_type_ = 0;
  bool by_gains_ = false;
};

}  // namespace opdump::blame
