#include "compare/equivalence.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compare/comparison.h"
#include "compare/conditioning.h"
#include "compare/content.h"

namespace opdump::compare {
namespace {

using dump::Runs;
using dump::Slot;

constexpr double kEqualRoundoffs = 32, kEqualNoise = 4;
constexpr std::size_t kNext = 16;                 // operators that may read a view of a result
constexpr std::uint64_t kMostElements = 1 << 22;  // of these

std::uint64_t count_of(const Slot& slot) {
  return slot.shape ? model::element_count(*slot.shape).value_or(0) : 0;
}

// A tensor that an operator of one run made.
struct SingleResult {
  std::size_t place = 0;  // in pairs
  std::uint32_t run = 0;  // in Runs
  Slot slot = {};
  Fingerprint print = {};
  double norm = 0;
  bool is_there = false;  // in the other run
};

// The results of the operators that only one run has.
class Results {
 public:
  Results(const Runs& runs, const Runs& others) : runs_(runs), others_(others) {}

  void add(std::size_t place, std::uint32_t run) {
    first_ = std::min<std::size_t>(first_, run);
    for (const Slot& slot : runs_.slots(run)) {
      const bool has_nothing = slot.undumped_reason == "view" || slot.undumped_reason == "uninitialised" ||
                               (slot.shape && count_of(slot) == 0);
      if (slot.side != model::Side::output || has_nothing) continue;
      const auto print = slot.shape ? fingerprint_of(slot) : std::nullopt;
      if (!print) {
        lacking_.insert(place);
        continue;
      }
      by_print_[{count_of(slot), print->sum}].push_back(results_.size());
      by_count_[count_of(slot)].push_back(results_.size());
      results_.push_back({.place = place, .run = run, .slot = slot, .print = *print});
    }
  }

  // `passing`: operators that only pass on what they read, and that the other run lacks.
  void find_readers(const std::set<std::uint32_t>& passing) {
    if (results_.empty()) return;
    for (std::size_t run = first_ + 1; run < runs_.size(); ++run) {
      if (passing.contains(static_cast<std::uint32_t>(run))) continue;
      for_each_known(runs_, run, model::Side::input, [&](const Slot&, SingleResult& result) {
        if (result.run < run && runs_.section_of(result.run).rank == runs_.section_of(run).rank)
          result.is_there = true;
      });
    }
  }

  // In what the other run made.
  void find_equals(double noise) {
    const bool has_one_step = count_steps(runs_) == 1 && count_steps(others_) == 1;
    const auto is_same_step = [&](const SingleResult& result, std::size_t other) {
      return has_one_step || runs_.section_of(result.run).step == others_.section_of(other).step;
    };
    for (std::size_t other = 0; other < others_.size(); ++other)
      for_each_known(others_, other, model::Side::output, [&](const Slot&, SingleResult& result) {
        result.is_there |= is_same_step(result, other);
      });
    std::set<std::uint64_t> open;
    for (SingleResult& result : results_)
      if (!result.is_there) {
        result.norm = norm_of_tensor(result.slot).value_or(0);
        if (result.norm > 0) open.insert(count_of(result.slot));
      }
    for (std::size_t other = 0; other < others_.size() && !open.empty(); ++other)
      for (const Slot& slot : others_.slots(other)) {
        if (slot.side != model::Side::output || !open.contains(count_of(slot))) continue;
        const double norm = norm_of_tensor(slot).value_or(0);
        for (const std::size_t i : by_count_[count_of(slot)])
          if (!results_[i].is_there && is_same_step(results_[i], other))
            results_[i].is_there = is_near(results_[i], slot, norm, noise);
      }
  }

  // Through views, which leave nothing in a dump: a slice of the result, or a number that is spread over a
  // tensor, is an input of one of the next operators.
  void find_readers_of_views() {
    for (SingleResult& result : results_) {
      const std::uint64_t count = count_of(result.slot);
      if (result.is_there || count > kMostElements || !(result.norm > 0)) continue;
      const std::size_t end = std::min<std::size_t>(runs_.size(), result.run + 1 + kNext);
      for (std::size_t run = result.run + 1; run < end && !result.is_there; ++run)
        for (const Slot& slot : runs_.slots(run))
          result.is_there =
              result.is_there || (slot.side == model::Side::input && is_view(slot, result.slot));
    }
  }

  void append_lacking(std::set<std::size_t>& places) const {
    places.insert(lacking_.begin(), lacking_.end());
    std::set<std::size_t> served;  // places with another result that is there
    for (const SingleResult& result : results_)
      if (result.is_there && !runs_.without_slots(result.run).type.ends_with('_'))
        served.insert(result.place);
    // What nobody reads beside a result that is there is a by-product, unless it is memory that was written.
    for (const SingleResult& result : results_)
      if (!result.is_there && !served.contains(result.place)) places.insert(result.place);
  }

 private:
  // Slots of a run that have the elements of a result.
  template <typename Take>
  void for_each_known(const Runs& runs, std::size_t run, model::Side side, const Take& take) {
    for (const Slot& slot : runs.slots(run)) {
      if (slot.side != side || !by_count_.contains(count_of(slot))) continue;
      const auto print = fingerprint_of(slot);
      const auto known = print ? by_print_.find({count_of(slot), print->sum}) : by_print_.end();
      if (known == by_print_.end()) continue;
      for (const std::size_t i : known->second) take(slot, results_[i]);
    }
  }

  static std::size_t count_steps(const Runs& runs) {
    std::set<std::int64_t> steps;
    for (std::uint32_t i = 0; i < runs.section_count(); ++i) steps.insert(runs.section(i).step);
    return steps.size();
  }

  static bool is_view(const Slot& slot, const Slot& whole) {
    const std::uint64_t count = count_of(slot), all = count_of(whole);
    if (count == 0 || count > kMostElements || (all > 1 && count >= all)) return false;
    const auto elements = compare::elements_of(slot);
    std::unordered_set<std::uint64_t> some;
    for (const std::size_t place : sample_places(elements.size())) some.insert(elements[place]);
    if (all > 1) return has_most(whole, some);
    return some.size() == 1 && compare::elements_of(whole) == std::vector(some.begin(), some.end());
  }

  static bool is_near(const SingleResult& result, const Slot& slot, double norm, double noise) {
    const double u = std::max(roundoff(result.slot.dtype), roundoff(slot.dtype));
    const double limit = std::max(kEqualRoundoffs * u, kEqualNoise * noise);
    // Most others are recognised by their size.
    if (!(norm > 0) || std::abs(norm - result.norm) > limit * result.norm) return false;
    auto a = dump::StoredTensor::read(result.slot), b = dump::StoredTensor::read(slot);
    if (!a || !b || !a->straighten() || !b->straighten()) return false;
    const auto metrics = math::compare_tensors(b->view(), a->view(), {});
    return metrics && metrics->nan_mismatch_count == 0 && metrics->relative_l2 <= limit;
  }

  const Runs &runs_, &others_;
  std::size_t first_ = SIZE_MAX;  // of the operators
  std::vector<SingleResult> results_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::size_t>> by_print_;  // elements, sum
  std::map<std::uint64_t, std::vector<std::size_t>> by_count_;
  std::set<std::size_t> lacking_;  // pairs with a result that is not in the dump
};

}  // namespace

bool only_moves(std::string_view type) {
  constexpr std::string_view kMoving[] = {"_to_copy", "clone", "contiguous", "copy_",
                                          "zero_",    "zeros", "zeros_like"};
  return std::ranges::find(kMoving, type) != std::end(kMoving);
}

std::vector<std::size_t> find_unexplained(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                          std::span<const OperatorPair> pairs,
                                          std::span<const std::size_t> singles, double noise) {
  Results of_golden(golden.runs(), actual.runs()), of_actual(actual.runs(), golden.runs());
  for (const std::size_t place : singles) {
    const OperatorPair& pair = pairs[place];
    if (pair.golden != OperatorPair::kNone)
      of_golden.add(place, pair.golden);
    else
      of_actual.add(place, pair.actual);
  }
  std::set<std::size_t> places;
  std::set<std::uint32_t> passing[2];
  for (const OperatorPair& pair : pairs) {
    if (pair.golden != OperatorPair::kNone && pair.actual != OperatorPair::kNone) continue;
    const bool is_golden = pair.golden != OperatorPair::kNone;
    const std::uint32_t run = is_golden ? pair.golden : pair.actual;
    if (only_moves((is_golden ? golden : actual).runs().without_slots(run).type))
      passing[is_golden].insert(run);
  }
  for (Results* results : {&of_golden, &of_actual}) {
    results->find_readers(passing[results == &of_golden]);
    results->find_equals(noise);
    results->find_readers_of_views();
    results->append_lacking(places);
  }
  return {places.begin(), places.end()};
}

}  // namespace opdump::compare
