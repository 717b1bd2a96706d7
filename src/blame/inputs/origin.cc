#include "blame/inputs/origin.h"

#include <algorithm>
#include <unordered_set>

#include "base/text/text.h"
#include "blame/inputs/dummy_data.h"
#include "compare/names.h"
#include "compare/rules/accuse/origin.h"
#include "compare/wiring/content.h"
#include "compare/wiring/producer.h"

namespace opdump::blame {
namespace {

constexpr std::uint64_t kMostElements = 1 << 26;  // that are looked through for the whole of a part

constexpr std::size_t kFewElements = 8;  // different elements, which many tensors have

using ElementSet = std::unordered_set<std::uint64_t>;

// The last operator of golden before `reader` with an output that lies in both tensors, and not at its place
// in actual's.
std::optional<std::size_t> find_displaced(const dump::Runs& runs, const dump::OperatorRun& reader,
                                          const std::vector<std::uint64_t>& golden,
                                          const std::vector<std::uint64_t>& actual) {
  const auto place = compare::find_execution(runs, reader);
  if (!place || golden.size() != actual.size()) return std::nullopt;
  const auto others = compare::other_elements(golden, actual);
  const ElementSet differing(others.begin(), others.end()), of_actual(actual.begin(), actual.end());
  std::uint64_t left = kMostElements;
  return compare::find_last_output(runs, *place, [&](const dump::Slot& slot) {
    const std::uint64_t count = compare::element_count_of(slot);
    if (count < kFewElements || count > golden.size() || count > left) return false;
    left -= count;
    const auto elements = compare::elements_of(slot);
    return ElementSet(elements.begin(), elements.end()).size() >= kFewElements &&
           std::ranges::all_of(elements, [&](std::uint64_t element) {
             return differing.contains(element) && of_actual.contains(element);
           });
  });
}

}  // namespace

std::optional<dump::OperatorRun> find_producer(const dump::Runs& runs, const dump::OperatorRun& reader,
                                               const std::vector<std::uint64_t>& elements) {
  const auto place = compare::find_execution(runs, reader);
  if (!place) return std::nullopt;
  const compare::Fingerprint wanted = compare::fingerprint_of(elements);
  auto found = compare::find_last_output(runs, *place, [&](const dump::Slot& slot) {
    return compare::element_count_of(slot) == elements.size() && compare::fingerprint_of(slot) == wanted;
  });
  if (!found) {
    std::unordered_set<std::uint64_t> samples;
    for (const std::size_t i : compare::sample_places(elements.size())) samples.insert(elements[i]);
    std::uint64_t left = kMostElements;
    found = compare::find_last_output(runs, *place, [&](const dump::Slot& slot) {
      const std::uint64_t count = compare::element_count_of(slot);
      if (count <= elements.size() || count > left) return false;
      left -= count;
      return compare::has_most(slot, samples);
    });
  }
  return found ? std::optional(runs.without_slots(*found)) : std::nullopt;
}

std::string explain_data(const dump::Runs& golden_runs, const dump::OperatorRun& reader,
                         const compare::SlotComparison& slot, const std::vector<std::uint64_t>& golden,
                         const std::vector<std::uint64_t>& actual) {
  if (const auto displaced = find_displaced(golden_runs, reader, golden, actual))
    return "what " + compare::one_line(compare::operator_name(golden_runs.without_slots(*displaced))) +
           " made lies at another place in it than in golden";
  const std::string numbers = compare::describe_numbers(slot);
  if (!numbers.empty()) return "no recorded operator made it: " + numbers;
  return "no recorded operator made it: a weight, a constant or data that differs" +
         (slot.metrics ? " (relative L2 " + format_g(slot.metrics->relative_l2) + ")" : std::string()) +
         describe_dummy(*slot.golden, golden, *slot.actual, actual);
}

bool has_step(const dump::Runs& runs, std::uint32_t rank, std::int64_t step) {
  for (std::uint32_t i = 0; i < runs.section_count(); ++i)
    if (runs.section(i).rank == rank && runs.section(i).step == step) return true;
  return false;
}

bool are_one(const dump::OperatorRun& a, const dump::OperatorRun& b) {
  return a.rank == b.rank && a.step == b.step && compare::operator_name(a) == compare::operator_name(b);
}

}  // namespace opdump::blame
