#include "blame/suspects.h"

#include <algorithm>
#include <utility>

#include "blame/differences.h"
#include "blame/inputs/origin.h"
#include "compare/key_slots.h"
#include "compare/rules/accuse/views.h"
#include "compare/rules/gains/usual.h"
#include "compare/rules/ledger.h"
#include "compare/rules/same/equivalence.h"
#include "model/operator_traits.h"

namespace opdump::blame {

using compare::OperatorComparison;
using compare::Verdict;

namespace {

constexpr std::size_t kMaxSuspects = 1 << 16;  // that are kept of a comparison

}  // namespace

Result<compare::Comparison> Suspects::collect(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                              compare::CompareOptions options, GainSearch& gains) {
  const auto also = options.take;
  options.take = [&](const OperatorComparison& op) {
    if (also) also(op);
    by_gains_ |= op.rule == compare::kUsualGains.name;
    op.as_measured ? take(compare::as_measured(op), gains) : take(op, gains);
  };
  OPDUMP_TRY(compare::Comparison comparison, compare::compare_dumps(golden, actual, options));
  for (const OperatorComparison& op : all_) {
    if (is_paired(op) || model::has_trait(op.run().type, model::Trait::copies)) continue;
    op.golden ? rewritten_.add_golden(*op.golden) : rewritten_.add_actual(*op.actual);
  }
  return comparison;
}

void Suspects::take(const OperatorComparison& op, GainSearch& gains) {
  ++compared_;
  of_other_type_ += !why_another_type(op).empty();
  if (op.is_alone) return;
  if (op.verdict == Verdict::skipped) return note_view(op);
  // They are paired because they make the same, each run in its own way.
  if (op.fusion == compare::Fusion::result) return note_equal(op);
  const bool has_output = differs(op, model::Side::output);
  differing_ += has_output || op.verdict == Verdict::rounding;
  const bool enlarges = gains.add(op, size());
  if (!has_output && !enlarges && !differs(op, model::Side::input) && is_paired(op)) return note_equal(op);
  if (all_.size() < kMaxSuspects)
    all_.push_back(op);
  else
    ++left_out_;
}

// The runs do the same again, after what differs.
void Suspects::note_equal(const OperatorComparison& op) {
  const auto is_output = [](const auto& slot) { return compare::side_of(slot) == model::Side::output; };
  if (all_.empty() || std::ranges::none_of(op.slots, is_output)) return;
  const dump::OperatorRun& last = all_.back().run();
  if (last.rank == op.run().rank && last.step == op.run().step) before_equal_.insert(size() - 1);
}

// A view that chooses elements says more than the shapes that follow from it.
void Suspects::note_view(const OperatorComparison& op) {
  std::string text = compare::describe_other_view(op);
  if (text.empty() || left_out_ > 0) return;
  OtherView view{size(), op.run().rank, op.run().step, std::move(text)};
  const bool has_better = !views_.empty() && views_.back().place == view.place &&
                          views_.back().rank == view.rank && views_.back().step == view.step;
  if (!has_better || !model::has_trait(op.run().type, model::Trait::reshapes))
    views_.push_back(std::move(view));
}

std::string_view Suspects::view_before(std::uint32_t i) const {
  const dump::OperatorRun& run = all_[i].run();
  const auto found = std::find_if(views_.rbegin(), views_.rend(), [&](const OtherView& view) {
    return view.place <= i && view.rank == run.rank && view.step == run.step;
  });
  return found == views_.rend() ? std::string_view() : found->text;
}

std::optional<std::uint32_t> Suspects::find(const compare::OperatorComparison& op) const {
  return op.golden ? find_golden(*op.golden) : find_actual(*op.actual);
}

std::optional<std::uint32_t> Suspects::find_golden(const dump::OperatorRun& run) const {
  for (std::uint32_t i = 0; i < size(); ++i)
    if (const auto& golden = all_[i].golden; golden && are_one(*golden, run)) return i;
  return std::nullopt;
}

std::optional<std::uint32_t> Suspects::find_actual(const dump::OperatorRun& run) const {
  for (std::uint32_t i = 0; i < size(); ++i)
    if (const auto& actual = all_[i].actual; actual && are_one(*actual, run)) return i;
  return std::nullopt;
}

}  // namespace opdump::blame
