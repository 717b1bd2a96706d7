#include "compare/rules/leave_out/leave_out.h"

namespace opdump::compare {
namespace {

// The operators are marked in their pairs (compare/pairs/frame/resumed.h).
class ResumedRun : public RuleState {
 public:
  ResumedRun(const Rule& rule, const Study&) : rule_(rule) {}

  bool look(OperatorComparison& op, Ledger&) override {
    if (!op.is_before_other) return false;
    op.rule = rule_.name;
    return true;
  }

 private:
  const Rule& rule_;
};

}  // namespace

const Rule kResumedRun{
    .name = "resumed-run",
    .sentence =
        "a run that goes on from a checkpoint is compared with the steps of the other run whose weights and "
        "data it has; what ran before them is left out",
    .stage = Stage::leave_out,
    .applies = [](const Study& study) { return study.has_dumps(); },
    .begin = begin_state<ResumedRun>};

}  // namespace opdump::compare
