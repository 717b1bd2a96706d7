#include <algorithm>
#include <cmath>
#include <string>

#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/measure/measure_parts.h"
#include "compare/names.h"
#include "compare/pairs/rows/common_rows.h"
#include "compare/rules/leave_out/leave_out.h"
#include "compare/rules/rounding/conditioning.h"

namespace opdump::compare {
namespace {

// Rows that only one run has, and what follows from sums over them.
class OtherRows : public RuleState {
 public:
  OtherRows(const Rule& rule, const Study& study) : rule_(rule), rows_(*study.relation.rows) {}

  bool look(OperatorComparison& op, Ledger&) override {
    bool has_left_out = false, is_compared = false;
    for (SlotComparison& slot : op.slots) {
      if (slot.parts == nullptr) continue;
      if (slot.parts->left_out.empty()) {
        is_compared = true;
        note_rounding(slot);
        note_gradient(op, slot);
        continue;
      }
      slot.rule = rule_.name;
      has_left_out = true;
    }
    compared_ += is_compared;
    return has_left_out;
  }

  void remark(Ledger& ledger) override {
    std::string text = rows_.note() + ": " + counted(compared_, "operator") + " compared there";
    constexpr double kFar = 1e4;  // as of a gradient that is zero but for rounding, or of a fault
    if (units_ > 0 && units_ <= kFar)
      text += ", the largest difference is " + format_fixed(units_, 1) + " times a rounding";
    ledger.note(rule_.name, std::move(text));
    if (are_sums_) {
      const std::string count = std::to_string(rows_.batch_count());
      ledger.note(rule_.name, std::string("gradients of ") +
                                  (rows_.has_golden_batches() ? "golden" : "actual") + " are sums over " +
                                  count + " micro-batches, not means: each is " + count +
                                  " times that of the batch, as where a loss is not divided by " + count);
    }
    if (const std::uint64_t count = rows_.left_out(); count > 0)
      ledger.note(rule_.name, counted(count, "operator", "follow") +
                                  " from sums over rows that only one run has: left out");
  }

 private:
  void note_rounding(const SlotComparison& slot) {
    if (side_of(slot) != model::Side::output || !slot.metrics || !(roundoff(slot.dtype) > 0)) return;
    const double units = slot.metrics->relative_l2 / roundoff(slot.dtype);
    if (std::isfinite(units)) units_ = std::max(units_, units);
  }

  // The first gradient of rows shows how losses of micro-batches add up.
  void note_gradient(const OperatorComparison& op, const SlotComparison& slot) {
    if (has_gradient_ || rows_.batch_count() == 0 || side_of(slot) != model::Side::output || !slot.metrics ||
        phase_of(op.run()) != model::Phase::backward)
      return;
    has_gradient_ = true;
    const double count = rows_.batch_count(), times = rows_.has_golden_batches() ? 1 / count : count;
    are_sums_ = slot.metrics->cosine > 1 - kAlike &&
                std::abs(slot.metrics->relative_l2 - std::abs(times - 1)) < kAlike * count;
  }

  static constexpr double kAlike = 1e-3;
  const Rule& rule_;
  const CommonRows& rows_;
  bool has_gradient_ = false, are_sums_ = false;
  std::uint64_t compared_ = 0;
  double units_ = 0;  // the largest relative L2 distance, in roundoffs
};

}  // namespace

const Rule kOtherRows{.name = "other-rows",
                      .sentence =
                          "of rows that only one run has, as those of a larger batch, and of what follows "
                          "from sums over them, nothing is said",
                      .stage = Stage::leave_out,
                      .applies = [](const Study& study) { return study.relation.rows != nullptr; },
                      .begin = begin_state<OtherRows>};

}  // namespace opdump::compare
