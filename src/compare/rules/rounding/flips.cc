#include "compare/rules/rounding/flips.h"

#include <algorithm>
#include <utility>

#include "compare/wiring/content.h"

namespace opdump::compare {

void Flips::add(const OperatorComparison& op, const SlotComparison& output) {
  if (output.golden == nullptr || output.actual == nullptr) return;
  const auto elements = [](std::vector<std::uint64_t> all) {
    Known known{.count = all.size(), .sorted = std::move(all)};
    std::ranges::sort(known.sorted);
    known.sorted.erase(std::unique(known.sorted.begin(), known.sorted.end()), known.sorted.end());
    return known;
  };
  auto golden = elements_of(*output.golden), actual = elements_of(*output.actual);
  const Fingerprint g = fingerprint_of(golden), a = fingerprint_of(actual);
  prints_.emplace(g.sum, g.count, a.sum, a.count);
  const dump::OperatorRun& run = op.run();
  of_step_.push_back({.rank = run.rank,
                      .step = run.step,
                      .golden = elements(std::move(golden)),
                      .actual = elements(std::move(actual))});
  kept_ += of_step_.back().size();
  while (!of_step_.empty() &&
         (kept_ > kMostElements || of_step_.front().step != run.step || of_step_.front().rank != run.rank)) {
    kept_ -= of_step_.front().size();
    of_step_.pop_front();
  }
}

// Numbers may be spread over a larger tensor. Places are small numbers, which others are, too.
bool Flips::have_all(const Known& known, const std::vector<std::uint64_t>& elements, bool are_places) {
  return (!are_places || elements.size() <= known.count) &&
         std::ranges::all_of(elements, [&](std::uint64_t element) {
           return std::ranges::binary_search(known.sorted, element);
         });
}

bool Flips::contain(const OperatorComparison& op, const SlotComparison& input) const {
  if (prints_.empty() || input.golden == nullptr || input.actual == nullptr) return false;
  const auto golden = elements_of(*input.golden), actual = elements_of(*input.actual);
  if (golden.empty() && actual.empty()) return false;
  const Fingerprint g = fingerprint_of(golden), a = fingerprint_of(actual);
  const bool are_places = !model::is_floating(input.golden->dtype);
  return prints_.contains({g.sum, g.count, a.sum, a.count}) ||
         std::ranges::any_of(of_step_, [&](const Tensors& known) {
           return known.rank == op.run().rank && known.step == op.run().step &&
                  have_all(known.golden, golden, are_places) && have_all(known.actual, actual, are_places);
         });
}

}  // namespace opdump::compare
