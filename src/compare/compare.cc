#include "compare/compare.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "compare/names.h"
#include "compare/pairing.h"
#include "compare/share.h"
#include "compare/tasks.h"
#include "compare/verdict.h"

namespace opdump::compare {
namespace {

std::vector<OperatorComparison> make_operators(std::span<const OperatorPair> pairs) {
  std::vector<OperatorComparison> operators(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    OperatorComparison& op = operators[i];
    op.golden = pairs[i].golden;
    op.actual = pairs[i].actual;
    op.is_alone = pairs[i].is_alone;
    static const dump::OperatorRun kNothing;
    const auto slots = pair_slots(op.golden != nullptr ? *op.golden : kNothing,
                                  op.actual != nullptr ? *op.actual : kNothing);
    op.slots.resize(slots.size());
    for (std::size_t s = 0; s < slots.size(); ++s) {
      op.slots[s].golden = slots[s].golden;
      op.slots[s].actual = slots[s].actual;
    }
  }
  return operators;
}

// Why `dump` may not be whole; adds the ranks that stopped early to `unfinished`.
void add_incomplete(std::string_view side, const dump::DumpSet& dump, std::set<std::uint32_t>& unfinished,
                    std::vector<std::string>& reasons) {
  const std::string name(side);
  for (const auto& [rank, status] : dump.statuses()) {
    if (status.state == "complete") continue;
    unfinished.insert(rank);
    const std::string where = name + " rank " + std::to_string(rank) + ": ";
    if (status.state == "recording") {
      reasons.push_back(where + "the recording did not end: it was interrupted, or still runs");
      continue;
    }
    if (status.losses.empty()) reasons.push_back(where + "the recording is " + status.state);
    for (const dump::Loss& loss : status.losses)
      reasons.push_back(where + std::to_string(loss.count) + " x " + loss.what + " (" + loss.reason + ")" +
                        (loss.first.empty() ? "" : ", the first at " + loss.first));
  }
  for (const dump::Problem& problem : dump.problems())
    reasons.push_back(name + ": " + problem.path.string() + ": " + problem.what);
}

// "rank 0: steps 1-11 are only in actual"
void add_absent_steps(std::span<const OperatorComparison> operators, std::vector<std::string>& reasons) {
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::int64_t>> steps;  // by rank, is in golden
  for (const OperatorComparison& op : operators)
    if (op.is_alone) steps[{op.run().rank, op.golden != nullptr}].push_back(op.run().step);
  for (auto& [key, numbers] : steps) {
    const std::string ranges = format_ranges(std::move(numbers));
    const bool is_one = ranges.find_first_of(",-") == std::string::npos;
    reasons.push_back("rank " + std::to_string(key.first) + ": " + (is_one ? "step " : "steps ") + ranges +
                      (is_one ? " is" : " are") + " only in " + (key.second ? "golden" : "actual"));
  }
}

// The texts of problems, which need not be told again for the slots they befell.
std::set<std::string_view> told_problems(const dump::DumpSet& golden, const dump::DumpSet& actual) {
  std::set<std::string_view> told;
  for (const dump::DumpSet* dump : {&golden, &actual})
    for (const dump::Problem& problem : dump->problems()) told.insert(problem.what);
  return told;
}

// What the slots of paired operators leave open: unreadable ones by name, inputs that only one side recorded
// by number -- a whole dump may be without inputs.
void add_open_questions(std::span<const OperatorComparison> operators, const std::set<std::string_view>& told,
                        std::vector<std::string>& reasons) {
  const auto is_told = [&](const dump::Slot* slot) {
    return slot != nullptr && told.contains(slot->undumped_reason);
  };
  std::uint64_t only_golden = 0, only_actual = 0;
  for (const OperatorComparison& op : operators) {
    if (op.golden == nullptr || op.actual == nullptr) continue;
    for (const SlotComparison& slot : op.slots) {
      if (slot.verdict == Verdict::unreadable && !is_told(slot.golden) && !is_told(slot.actual))
        reasons.push_back(operator_name(*op.golden) + " " + slot_name(slot) + ": " + slot.reason);
      only_golden += slot.verdict == Verdict::missing && slot.golden->side == model::Side::input;
      only_actual += slot.verdict == Verdict::extra && slot.actual->side == model::Side::input;
    }
  }
  for (const auto& [count, side] : {std::pair(only_golden, "golden"), std::pair(only_actual, "actual")})
    if (count > 0)
      reasons.push_back(counted(count, "input") + (count == 1 ? " is" : " are") + " only in " + side);
}

bool is_silent(const dump::DumpSet& dump) {
  return std::ranges::all_of(dump.runs(), [](const dump::OperatorRun& run) { return run.op == nullptr; });
}

// A single rank is compared with a single rank, whatever their numbers.
void join_single_ranks(const dump::DumpSet& golden, const dump::DumpSet& actual, Unfinished& unfinished) {
  if (golden.statuses().size() != 1 || actual.statuses().size() != 1) return;
  const std::uint32_t g = golden.statuses().begin()->first, a = actual.statuses().begin()->first;
  if (unfinished.golden.contains(g)) unfinished.golden.insert(a);
  if (unfinished.actual.contains(a)) unfinished.actual.insert(g);
}

}  // namespace

math::Tolerance default_tolerance(model::DType dtype) {
  switch (dtype) {
    case model::DType::float16:
      return {1e-3, 1e-5};
    case model::DType::bfloat16:
      return {1.6e-2, 1e-5};
    case model::DType::float32:
    case model::DType::complex64:
      return {1.3e-6, 1e-5};
    case model::DType::float64:
    case model::DType::complex128:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

Result<Comparison> compare_dumps(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                 const Options& options) {
  Comparison comparison;
  Pairing pairing = pair_operators(golden.runs(), actual.runs());
  comparison.notes = std::move(pairing.notes);
  comparison.operators = make_operators(pairing.pairs);
  std::vector<Task> tasks = make_tasks(comparison.operators);
  if (options.share == nullptr)
    run_tasks(tasks, options);
  else
    OPDUMP_CHECK_OK(share_tasks(tasks, golden, actual, options, comparison.incomplete));
  copy_results(tasks);

  Unfinished unfinished;
  add_incomplete("golden", golden, unfinished.golden, comparison.incomplete);
  add_incomplete("actual", actual, unfinished.actual, comparison.incomplete);
  join_single_ranks(golden, actual, unfinished);
  unfinished.golden_is_silent = is_silent(golden);
  unfinished.actual_is_silent = is_silent(actual);
  for (OperatorComparison& op : comparison.operators) judge_operator(op, unfinished);
  add_absent_steps(comparison.operators, comparison.incomplete);
  add_open_questions(comparison.operators, told_problems(golden, actual), comparison.incomplete);
  judge_dumps(comparison, unfinished);
  return comparison;
}

}  // namespace opdump::compare
