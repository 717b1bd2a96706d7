#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/key_slots.h"
#include "compare/paired_by.h"
#include "compare/rules/accuse/origin.h"
#include "compare/rules/explain/explain.h"
#include "compare/wiring/tensor_print.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

class PairByPlace : public RuleState {
 public:
  explicit PairByPlace(const Study& study) : study_(study) {}

  bool look(OperatorComparison& op, Ledger& ledger) override {
    if (op.golden == nullptr || op.actual == nullptr) return false;
    const bool is_by_place = op.paired_by == PairedBy::alignment;
    const bool hands_over =
        op.verdict == Verdict::input_differs && model::has_trait(op.run().type, model::Trait::hands_over);
    const bool copies = is_by_place && op.verdict == Verdict::inherited &&
                        model::has_trait(op.run().type, model::Trait::casts);
    if ((!hands_over && !copies) || is_made_by_pair(op, study_.pairs[ledger.next_place()])) return false;
    const bool has_parts = hands_over && have_parts(study_.pairs[ledger.next_place()]);
    op.verdict = is_by_place || has_parts ? Verdict::skipped : Verdict::uncertain;
    op.cause = op.verdict == Verdict::skipped ? std::string() : explain_numbers(op);
    if (has_parts)
      op.left_out = "one run has the parts of it, as of a loss, whose sum or mean is the same";
    else if (is_by_place)
      op.left_out = "it is paired by its place alone, and reads what other operators made";
    for (SlotComparison& slot : op.slots) {
      if (!is_difference(slot.verdict)) continue;
      slot.verdict = op.verdict;
      if (op.verdict == Verdict::skipped) slot.reason = op.left_out;
    }
    return true;
  }

 private:
  // What a line of the program hands over, in order.
  static std::vector<double> numbers_of(const dump::Runs& runs, std::uint32_t execution) {
    const auto line_of = [&](std::size_t i) {
      const dump::OperatorRun run = runs.without_slots(i);
      return std::tuple(run.rank, run.type,
                        run.op == nullptr ? std::string() : model::format_source(*run.op));
    };
    const auto line = line_of(execution);
    std::vector<double> numbers;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (line_of(i) != line) continue;
      for (const dump::Slot& slot : runs.slots(i))
        if (const auto print = print_of(slot); slot.side == model::Side::input && print)
          numbers.push_back(print->mean);
    }
    return numbers;
  }

  // Whether one run has several numbers wherever the other has their sum or mean, as losses of micro-batches.
  static bool are_parts(std::span<const double> wholes, std::span<const double> parts) {
    constexpr double kRounding = 1e-5;
    if (wholes.empty() || parts.size() <= wholes.size() || parts.size() % wholes.size() != 0) return false;
    const std::size_t count = parts.size() / wholes.size();
    for (std::size_t i = 0; i < wholes.size(); ++i) {
      const auto own = parts.subspan(i * count, count);
      const double sum = std::accumulate(own.begin(), own.end(), 0.0),
                   mean = sum / static_cast<double>(count);
      if (std::min(std::abs(sum - wholes[i]), std::abs(mean - wholes[i])) > kRounding * std::abs(wholes[i]))
        return false;
    }
    return true;
  }

  bool have_parts(const OperatorPair& pair) {
    const auto [known, is_new] =
        have_parts_.try_emplace({study_.golden->runs().operator_number(pair.golden),
                                 study_.actual->runs().operator_number(pair.actual)});
    if (is_new) {
      const std::vector<double> golden = numbers_of(study_.golden->runs(), pair.golden),
                                actual = numbers_of(study_.actual->runs(), pair.actual);
      known->second = are_parts(golden, actual) || are_parts(actual, golden);
    }
    return known->second;
  }

  // Whether what differs was made by operators that are paired, or by none: then it is a difference of
  // theirs.
  bool is_made_by_pair(const OperatorComparison& op, const OperatorPair& pair) {
    for (const SlotComparison& slot : op.slots) {
      if (side_of(slot) != model::Side::input || !is_difference(slot.verdict)) continue;
      if (slot.golden == nullptr || slot.actual == nullptr) return true;
      const auto of_golden = study_.golden_wiring->maker(pair.golden, *slot.golden);
      const auto of_actual = study_.actual_wiring->maker(pair.actual, *slot.actual);
      if (!of_golden || !of_actual || partner_of(*of_golden) == *of_actual) return true;
    }
    return false;
  }

  std::optional<std::uint32_t> partner_of(std::size_t golden) {
    if (partners_.empty())
      for (const OperatorPair& pair : study_.pairs)
        if (pair.is_whole()) partners_.emplace(pair.golden, pair.actual);
    const auto found = partners_.find(static_cast<std::uint32_t>(golden));
    return found == partners_.end() ? std::nullopt : std::optional(found->second);
  }

  const Study& study_;
  std::map<std::uint32_t, std::uint32_t> partners_;                     // actual's, by golden's
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> have_parts_;  // by their operators
};

}  // namespace

const Rule kPairByPlace{
    .name = "pair-by-place",
    .sentence =
        "a copy, or a number for the program, of what other operators made in each run is no pair if only "
        "its place says so: what reads it is compared; else such a number is an open question",
    .stage = Stage::explain,
    .applies =
        [](const Study& study) {
          return study.is_plain() && study.golden_wiring->is_recorded() && study.actual_wiring->is_recorded();
        },
    .begin = begin_state<PairByPlace>};

}  // namespace opdump::compare
