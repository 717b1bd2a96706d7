#include <string>
#include <string_view>

#include "compare/key_slots.h"
#include "compare/rules/leave_out/leave_out.h"

namespace opdump::compare {
namespace {

// The operators are marked in their pairs (compare/pairs/filtered.h).
class Filtered : public RuleState {
 public:
  Filtered(const Rule& rule, const Study& study)
      : rule_(rule), golden_(study.golden->filter()), actual_(study.actual->filter()) {}

  bool look(OperatorComparison& op, Ledger&) override {
    bool has_left_out = false;
    if (op.is_filtered) op.rule = rule_.name;
    if (op.golden == nullptr || op.actual == nullptr) return op.is_filtered;
    for (SlotComparison& slot : op.slots) {
      if (!slot.rule.empty() || !is_left_out(slot)) continue;
      slot.verdict = Verdict::skipped;
      slot.reason = std::string(slot.golden == nullptr ? "golden" : "actual") + " was not to have it";
      slot.rule = rule_.name;
      has_left_out = true;
    }
    has_left_out_ |= has_left_out;
    return has_left_out;
  }

  void remark(Ledger& ledger) override {
    if (!has_left_out_) return;
    note(ledger, "golden", golden_);
    note(ledger, "actual", actual_);
  }

 private:
  // An input that a dump just does not have leaves a question open; a configuration answers it.
  static bool lacks(const dump::DumpFilter& filter, model::Side side) {
    return side == model::Side::output ? !filter.outputs : !filter.inputs && !filter.source.empty();
  }
  bool is_left_out(const SlotComparison& slot) const {
    return (slot.golden == nullptr && lacks(golden_, side_of(slot))) ||
           (slot.actual == nullptr && lacks(actual_, side_of(slot)));
  }
  void note(Ledger& ledger, std::string_view dump, const dump::DumpFilter& filter) const {
    if (filter.inputs == filter.outputs) return;
    ledger.note(rule_.name, std::string(dump) + " has " + (filter.inputs ? "inputs" : "outputs") +
                                " only: the other tensors are left out");
  }

  const Rule& rule_;
  const dump::DumpFilter &golden_, &actual_;
  bool has_left_out_ = false;
};

}  // namespace

const Rule kFiltered{
    .name = "filtered",
    .sentence =
        "what the configuration of a dump leaves out is no difference: operators, all inputs or outputs",
    .stage = Stage::leave_out,
    .applies =
        [](const Study& study) {
          return study.has_dumps() &&
                 (study.golden->filter().leaves_out() || study.actual->filter().leaves_out());
        },
    .begin = begin_state<Filtered>};

}  // namespace opdump::compare
