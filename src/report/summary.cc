#include "report/summary.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "model/position.h"

namespace opdump::report {
namespace {

using compare::Comparison;
using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

std::string inputs_of_own_error(const OperatorComparison& op) {
  bool any = false;
  for (const SlotComparison& slot : op.slots) {
    if (compare::side_of(slot) != model::Side::input) continue;
    any = true;
    if (slot.verdict == Verdict::match) return "inputs match";
  }
  return any ? "inputs not compared" : "no inputs recorded";
}

// Of several ranks, "input.mat2 already differs on rank 1".
std::string inputs_that_differ(const OperatorComparison& op) {
  const SlotComparison* slot = compare::first_difference(op, model::Side::input);
  if (slot == nullptr || slot->wrong_ranks.empty()) return "inputs already differ";
  const std::set<std::int64_t> ranks(slot->wrong_ranks.begin(), slot->wrong_ranks.end());
  return compare::slot_name(*slot) + " already differs on " + inflect(ranks.size(), "rank ", "ranks ") +
         compare::format_ranges(ranks);
}

// "output differs (cosine 0.981, max abs 0.37)"
std::string output_difference(const OperatorComparison& op) {
  const SlotComparison* slot = compare::first_difference(op, model::Side::output);
  if (slot == nullptr) return "outputs match";
  const model::Side side = model::Side::output;
  const bool is_first = (slot->golden != nullptr ? slot->golden : slot->actual)->index == 0;
  const std::string name =
      is_first ? std::string(model::kSideNames[static_cast<std::size_t>(side)]) : compare::slot_name(*slot);
  if (slot->golden == nullptr || slot->actual == nullptr) return name + " is " + slot->reason;
  return name + " differs (" + describe_slot(*slot) + ")";
}

std::string why(const OperatorComparison& op) {
  switch (op.verdict) {
    case Verdict::own_error:
      return (op.cause.empty() ? inputs_of_own_error(op) : op.cause) + ", " + output_difference(op);
    case Verdict::argument_differs:
      return op.cause + ", " + output_difference(op);
    case Verdict::inherited:
      return inputs_that_differ(op) + (op.cause.empty() ? "" : ": " + op.cause) + ", " +
             output_difference(op);
    case Verdict::input_differs:
      return (op.cause.empty() ? "inputs differ" : op.cause) + ", outputs match";
    case Verdict::missing:
      return op.cause.empty() ? "only in golden" : op.cause;
    case Verdict::extra:
      return op.cause.empty() ? "only in actual" : op.cause;
    default:
      return (op.cause.empty() ? "" : op.cause + ", ") + output_difference(op);
  }
}

// "; just before it, 3 operators are only in actual": what has no partner may be the cause.
std::string unpaired_before(const Comparison& comparison) {
  const compare::UnpairedOperators& before = comparison.before_first_bad;
  std::string text;
  for (const auto& [count, side] :
       {std::pair(before.only_golden, "golden"), std::pair(before.only_actual, "actual")})
    if (count > 0)
      text += (text.empty() ? "; just before it, " : " and ") + counted(count, "operator", "are") +
              " only in " + side;
  return text;
}

std::string first_bad_line(const Comparison& comparison) {
  const OperatorComparison& op = *comparison.first_bad;
  const dump::OperatorRun& run = op.run();
  std::string line = "first bad operator: " + compare::one_line(compare::operator_name(run)) + " (";
  if (run.op != nullptr)
    line.append(model::kPhaseNames[static_cast<std::size_t>(run.op->phase)]).append(", ");
  line += "step " + std::to_string(run.step);
  if (comparison.has_ranks) line += ", rank " + std::to_string(run.rank);
  line += ")";
  const auto at = [](const dump::OperatorRun& of) {
    const std::string source = of.op != nullptr ? dump::describe_source(*of.op) : "";
    return source.empty() ? "" : " at " + source;
  };
  line += at(run);
  if (op.golden != nullptr && op.actual != nullptr && op.is_across &&
      compare::operator_name(*op.golden) != compare::operator_name(*op.actual))
    line += ", in actual " + compare::one_line(compare::operator_name(*op.actual)) + at(*op.actual);
  const std::string& view = comparison.view_before_first_bad;
  return line + " — " + why(op) + unpaired_before(comparison) + (view.empty() ? "" : "; before it, " + view);
}

}  // namespace

std::string format_cosine(const math::Metrics& metrics) {
  std::string text = format_g(metrics.cosine);
  if (text != "1" || metrics.mismatch_count == 0) return text;
  const double lacks = 1 - metrics.cosine;
  if (!(lacks > 0)) return {};
  const double unit = std::pow(10, std::floor(std::log10(lacks)) - 1);
  return "1-" + format_g(std::round(lacks / unit) * unit);
}

std::string format_position(std::uint64_t index, const model::Shape& shape) {
  std::string text;
  for (const std::uint64_t at : model::position_of(index, shape))
    text.append(text.empty() ? "" : ",").append(std::to_string(at));
  return "(" + text + ")";
}

std::string describe_slot(const SlotComparison& slot) {
  std::string text = slot.reason;
  if (slot.metrics && slot.metrics->nan_mismatch_count == 0) {
    const std::string cosine = format_cosine(*slot.metrics);
    const std::string numbers =
        (cosine.empty() ? "" : "cosine " + cosine + ", ") + "max abs " + format_g(slot.metrics->max_abs);
    text = text.empty() ? numbers : numbers + "; " + text;
  }
  return text;
}

std::string coverage_line(const Comparison& comparison) {
  const compare::Coverage& c = comparison.coverage;
  std::string line = "compared " + std::to_string(c.compared_slots) + " of " +
                     counted(c.golden_slots, "tensor") + " in " + std::to_string(c.paired_operators) +
                     " of " + counted(c.golden_operators, "operator") + " (" +
                     format_bytes(c.compared_bytes) + ")";
  const auto add_single = [&](std::uint64_t operators, std::uint64_t filtered, std::string_view side) {
    const std::uint64_t single = operators - c.paired_operators - filtered;
    if (single > 0) line += "; " + std::to_string(single) + " only in " + std::string(side);
  };
  add_single(c.golden_operators, c.golden_filtered, "golden");
  add_single(c.actual_operators, c.actual_filtered, "actual");
  if (const std::uint64_t filtered = c.golden_filtered + c.actual_filtered; filtered > 0)
    line += "; " + counted(filtered, "operator") + " left out by a filter";
  if (c.skipped_slots > 0) line += "; " + counted(c.skipped_slots, "tensor") + " left out";
  return line;
}

std::string conclusion(const Comparison& comparison) {
  const compare::Coverage& c = comparison.coverage;
  const std::string compared =
      counted(c.paired_operators, "operator") + ", " + counted(c.compared_slots, "tensor") + " compared";
  switch (comparison.outcome) {
    case compare::Answer::differs:
      return first_bad_line(comparison);
    case compare::Answer::same:
      if (const auto rounded = comparison.verdicts[static_cast<std::size_t>(Verdict::rounding)]; rounded > 0)
        return "no difference beyond rounding: " + compared + "; " + counted(rounded, "operator", "differ") +
               " by rounding";
      return "no difference: " + compared;
    case compare::Answer::incomplete:
      return "no difference found, but the result is incomplete: " + compared;
    case compare::Answer::nothing_compared:
      break;
  }
  if (c.paired_operators == 0)
    return "nothing compared: of " + counted(c.golden_operators, "operator") + " in golden and " +
           std::to_string(c.actual_operators) + " in actual none is in both" +
           (!comparison.is_across && c.golden_operators > 0 && c.actual_operators > 0
                ? "; --pair-by operators pairs them by what they compute"
                : "");
  return "nothing compared: " + counted(c.paired_operators, "operator", "are") +
         " in both, but no tensor could be compared";
}

}  // namespace opdump::report
