#include "compare/rules/gains/singles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compare/comparison.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"
#include "compare/wiring/content.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

constexpr double kPrintedDigits = 1e-5, kNearNoise = 4;  // as those of equal results

// The largest and the smallest element and the norm; what a dump does not have is NaN.
using Numbers = std::array<double, 3>;

Result<Columns> known_columns(const dump::Slot& slot) {
  if (!slot.statistics.empty()) return slot.statistics.columns();
  OPDUMP_TRY(const dump::StoredTensor tensor, dump::StoredTensor::read(slot));
  return compute_extent(tensor.view(), slot.dtype);
}

std::optional<Numbers> extent_of(const dump::Slot& slot) {
  const auto columns = known_columns(slot);
  if (!columns) return std::nullopt;
  Numbers numbers;
  const std::array names{"Max Value", "Min Value", "L2Norm Value"};
  std::ranges::transform(names, numbers.begin(),
                         [&](const char* name) { return column_number(*columns, name).value_or(NAN); });
  return std::ranges::all_of(numbers, [](double x) { return std::isnan(x); }) ? std::nullopt
                                                                              : std::optional(numbers);
}

// `atol`: as where statistics are compared, which is not relative.
bool are_near(const Numbers& a, const Numbers& b, double limit, double atol) {
  const auto larger = [&](std::size_t i) { return std::max(std::abs(a[i]), std::abs(b[i])); };
  const double size = std::max(larger(0), larger(1));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= atol + limit * (i == 2 ? larger(i) : size))) return false;
  }
  return true;
}

const dump::Runs& runs_of(const OperatorPair& single, const dump::Runs& golden, const dump::Runs& actual) {
  return single.golden != OperatorPair::kNone ? golden : actual;
}

std::uint32_t run_of(const OperatorPair& single) {
  return single.golden != OperatorPair::kNone ? single.golden : single.actual;
}

// All that operators of a run make, by step and number of elements.
class MadeNumbers {
 public:
  MadeNumbers(const dump::Runs& runs, bool has_one_step) : has_one_step_(has_one_step) {
    for (std::size_t run = 0; run < runs.size(); ++run)
      for (const dump::Slot& slot : runs.slots(run))
        if (slot.side == model::Side::output)
          if (const auto numbers = extent_of(slot)) made_[key_of(runs, run, slot)].push_back(*numbers);
  }

  // Of the operator `run` of the other run.
  bool contain(const dump::Runs& runs, std::size_t run, const dump::Slot& slot, double limit) const {
    const auto numbers = extent_of(slot);
    const auto made = made_.find(key_of(runs, run, slot));
    const double atol = default_tolerance(slot.dtype).atol;
    return numbers && made != made_.end() && std::ranges::any_of(made->second, [&](const Numbers& of) {
             return are_near(*numbers, of, limit, atol);
           });
  }

 private:
  using Key = std::pair<std::int64_t, std::uint64_t>;
  Key key_of(const dump::Runs& runs, std::size_t run, const dump::Slot& slot) const {
    return {has_one_step_ ? 0 : runs.section_of(run).step, element_count_of(slot)};
  }

  bool has_one_step_;
  std::map<Key, std::vector<Numbers>> made_;
};

bool have_one_step(const dump::Runs& golden, const dump::Runs& actual) {
  return std::ranges::all_of(std::array{&golden, &actual}, [](const dump::Runs* runs) {
    std::set<std::int64_t> steps;
    for (std::uint32_t i = 0; i < runs->section_count(); ++i) steps.insert(runs->section(i).step);
    return steps.size() <= 1;
  });
}

bool is_lacking(const dump::Runs& runs, std::uint32_t run, const MadeNumbers& others, double limit,
                const std::set<std::uint64_t>& uncertain) {
  const bool writes = runs.without_slots(run).type.ends_with('_');
  std::size_t results = 0, known = 0;
  bool has_uncertain = false, has_tensor = false;
  for (const dump::Slot& slot : runs.slots(run)) {
    if (slot.side != model::Side::output || slot.undumped_reason == "view" ||
        slot.undumped_reason == "uninitialised")
      continue;
    ++results;
    const bool is_uncertain = uncertain.contains(element_count_of(slot));
    has_uncertain |= is_uncertain;
    has_tensor |= !slot.file.empty();
    known += is_uncertain || others.contain(runs, run, slot, limit);
  }
  if (has_tensor && !has_uncertain) return true;
  return writes ? known < results : known == 0 && results > 0;
}

}  // namespace

std::vector<std::size_t> find_last_singles(const dump::Runs& golden, const dump::Runs& actual,
                                           std::span<const OperatorPair> pairs,
                                           std::span<const std::size_t> singles) {
  struct Last {
    std::size_t any = 0, forward = 0;  // places in pairs, from 1
  };
  std::map<std::uint32_t, Last> last;  // of both runs, by rank
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    if (!pairs[place].is_whole()) continue;
    const dump::OperatorRun run = golden.without_slots(pairs[place].golden);
    if (model::has_trait(run.type, model::Trait::copies)) continue;
    Last& of_rank = last[run.rank];
    of_rank.any = place + 1;
    if (phase_of(run) == model::Phase::forward) of_rank.forward = place + 1;
  }
  std::vector<std::size_t> found;
  for (const std::size_t place : singles) {
    const dump::OperatorRun run = runs_of(pairs[place], golden, actual).without_slots(run_of(pairs[place]));
    const Last& of_rank = last[run.rank];
    // What an optimizer makes in between is read by what writes to its state or to weights.
    if (phase_of(run) == model::Phase::optimizer && !run.type.ends_with('_')) continue;
    if (place >= (phase_of(run) == model::Phase::optimizer ? of_rank.forward : of_rank.any))
      found.push_back(place);
  }
  return found;
}

std::vector<std::size_t> find_lacking(const dump::Runs& golden, const dump::Runs& actual,
                                      std::span<const OperatorPair> pairs,
                                      std::span<const std::size_t> singles, double noise,
                                      const std::set<std::uint64_t>& uncertain) {
  const bool has_one_step = have_one_step(golden, actual);
  const MadeNumbers of_golden(golden, has_one_step), of_actual(actual, has_one_step);
  const double limit = std::max(kPrintedDigits, kNearNoise * noise);
  std::vector<std::size_t> lacking;
  for (const std::size_t place : singles) {
    const bool is_golden = pairs[place].golden != OperatorPair::kNone;
    if (is_lacking(runs_of(pairs[place], golden, actual), run_of(pairs[place]),
                   is_golden ? of_actual : of_golden, limit, uncertain))
      lacking.push_back(place);
  }
  return lacking;
}

}  // namespace opdump::compare
