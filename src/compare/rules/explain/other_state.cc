#include <string>

#include "compare/facts/arguments.h"
#include "compare/measure/sharded/measure_shards.h"
#include "compare/rules/explain/explain.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

class TermsOfASum : public RuleState {
 public:
  bool look(OperatorComparison& op, Ledger&) override {
    if (!op.cause.empty()) return false;
    op.cause = explain_sums(op);
    return !op.cause.empty();
  }
};

// Another generator, or autocast, explains outputs that differ. Where the generators are unknown, a random
// operator with the same inputs asks for the seed.
class OtherState : public RuleState {
 public:
  bool look(OperatorComparison& op, Ledger&) override {
    if (!op.cause.empty() || !has_bad_output(op.verdict)) return false;
    const StateDifference state = find_state_difference(op.golden->form.get(), op.actual->form.get());
    const bool is_open =
        op.verdict == Verdict::own_error && model::has_trait(op.run().type, model::Trait::random);
    if (!state.generator.empty())
      op.cause = "it draws random numbers, and " + state.generator;
    else if (is_open && !draw_the_same(op.golden->form.get(), op.actual->form.get()))
      op.cause = "it draws random numbers (another seed?)";
    else
      op.cause = state.autocast;
    return !op.cause.empty();
  }
};

}  // namespace

const Rule kTermsOfASum{.name = "terms-of-a-sum",
                        .sentence =
                            "an operator that reads terms of a sum of the ranks as if they were the sum "
                            "lacks a reduction before it",
                        .stage = Stage::explain,
                        .begin = begin_state<TermsOfASum>};
const Rule kOtherState{.name = "other-state",
                       .sentence = "another seed, another generator or autocast explains outputs that differ",
                       .stage = Stage::explain,
                       .begin = begin_state<OtherState>};

}  // namespace opdump::compare
