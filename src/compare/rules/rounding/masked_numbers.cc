#include "compare/rules/rounding/masked_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/measured.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

// A softmax makes nothing of what is so much below the other numbers: exp(-64) is far below a roundoff. Masks
// have -inf, the least number of a type, -1e9, -1e4 or -100.
constexpr double kNothing = -64;
constexpr std::uint64_t kMostMasked = 1 << 24;
// What differs by less is not read: other numbers in masks are far apart, and few other differences are.
constexpr double kLeastDifference = 16;

// Whether both runs have such a number wherever a tensor differs.
bool differs_in_masked_numbers(const OperatorComparison& op, const SlotComparison& slot) {
  if (slot.golden == nullptr || slot.actual == nullptr || !model::is_floating(slot.golden->dtype) ||
      slot.parts != nullptr || slot.sharded != nullptr || slot.any_layout || slot.is_quantised)
    return false;
  if (!slot.metrics || (slot.metrics->nan_mismatch_count == 0 && slot.metrics->max_abs < kLeastDifference))
    return false;
  const auto golden = read_numbers(*op.golden, side_of(slot), slot.golden->index, kMostMasked);
  const auto actual = read_numbers(*op.actual, side_of(slot), slot.actual->index, kMostMasked);
  if (!golden || !actual || golden->dims != actual->dims) return false;
  const math::Tolerance tolerance = default_tolerance(coarsest_dtype(slot));
  for (std::size_t i = 0; i < golden->values.size(); ++i) {
    const double a = golden->values[i], b = actual->values[i];
    if (a == b || (a <= kNothing && b <= kNothing)) continue;
    if (!(std::abs(a - b) <= tolerance.atol + tolerance.rtol * std::abs(a))) return false;
  }
  return true;
}

// What reads the numbers says whether they matter: all of it makes the same in both runs, or hands on a mask.
class MaskedNumbers : public RuleState {
 public:
  explicit MaskedNumbers(const Study& study) : study_(study) {}

  bool look(OperatorComparison& op, Ledger& ledger) override {
    if (op.golden == nullptr || op.actual == nullptr || !is_difference(op.verdict) || !is_masked(op) ||
        !has_no_effect(ledger.next_place(), op, 0))
      return false;
    for (SlotComparison& slot : op.slots)
      if (is_difference(slot.verdict)) {
        slot.verdict = Verdict::rounding;
        slot.reason = "it differs in masked numbers only";
      }
    op.verdict = Verdict::rounding;
    op.rule = kMaskedNumbers.name;
    if (count_++ == 0)
      first_ = one_line(operator_name(op.run())) + (op.cause.empty() ? "" : ", where " + op.cause);
    op.cause.clear();
    return true;
  }

  void remark(Ledger& ledger) override {
    if (count_ > 0)
      ledger.note(kMaskedNumbers.name, counted(count_, "operator", "mask") + " with other numbers (first " +
                                           first_ + "), and what reads them agrees: no difference");
  }

 private:
  static constexpr unsigned kMostInARow = 16;  // operators that hand on a mask
  static constexpr std::size_t kMostAsked = 256;

  static bool is_masked(const OperatorComparison& op) {
    return op.shards.empty() && std::ranges::all_of(op.slots, [&](const SlotComparison& slot) {
             return !is_difference(slot.verdict) || differs_in_masked_numbers(op, slot);
           });
  }

  // Of an operator that differs in masked numbers.
  bool has_no_effect(std::size_t place, const OperatorComparison& op, unsigned depth) {
    if (const auto known = known_.find(place); known != known_.end()) return known->second;
    if (depth == kMostInARow || known_.size() == kMostAsked) return false;
    known_[place] = false;
    const OperatorPair& pair = study_.pairs[place];
    for (const SlotComparison& slot : op.slots) {
      if (side_of(slot) != model::Side::output || !is_difference(slot.verdict)) continue;
      const auto readers =
          places_of_readers({pair.golden, slot.golden->index}, {pair.actual, slot.actual->index});
      if (!readers ||
          !std::ranges::all_of(*readers, [&](std::size_t reader) { return agrees(reader, depth); }))
        return false;
    }
    return known_[place] = true;
  }

  bool agrees(std::size_t place, unsigned depth) {
    const OperatorComparison op = measured(study_, place);
    bool has_numbers = false;
    // A choice or a comparison may be the same of other numbers.
    for (const SlotComparison& slot : op.slots)
      has_numbers |= side_of(slot) == model::Side::output && slot.metrics && model::is_floating(slot.dtype);
    if (!has_numbers) return false;
    if (op.verdict == Verdict::match || op.verdict == Verdict::input_differs) return true;
    return is_difference(op.verdict) && is_masked(op) && has_no_effect(place, op, depth + 1);
  }

  // The pairs that read an output; nothing unless both runs have them, and all are known.
  std::optional<std::set<std::size_t>> places_of_readers(Wiring::Output golden, Wiring::Output actual) {
    const auto of_golden = study_.golden_wiring->readers(golden),
               of_actual = study_.actual_wiring->readers(actual);
    if (!of_golden || !of_actual || of_golden->size() != of_actual->size()) return std::nullopt;
    if (places_.empty())
      for (std::size_t i = 0; i < study_.pairs.size(); ++i)
        if (study_.pairs[i].is_whole()) places_.emplace(study_.pairs[i].golden, i);
    std::set<std::size_t> found;
    for (const std::uint32_t reader : *of_golden) {
      const auto place = places_.find(reader);
      if (place == places_.end() ||
          !std::ranges::binary_search(*of_actual, study_.pairs[place->second].actual))
        return std::nullopt;
      found.insert(place->second);
    }
    return found;
  }

  const Study& study_;
  std::unordered_map<std::uint32_t, std::size_t> places_;  // of executions of golden, in the pairs
  std::map<std::size_t, bool> known_;
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace

const Rule kMaskedNumbers{
    .name = "masked-numbers",
    .sentence =
        "numbers far below zero, as -inf and -1e9 in a mask, are the same if all that reads them agrees",
    .stage = Stage::excuse,
    .applies =
        [](const Study& study) {
          return study.is_plain() && study.golden_wiring->is_recorded() && study.actual_wiring->is_recorded();
        },
    .begin = begin_state<MaskedNumbers>};

}  // namespace opdump::compare
