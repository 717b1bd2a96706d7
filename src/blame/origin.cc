#include "blame/origin.h"

#include <unordered_set>

#include "compare/content.h"
#include "compare/names.h"
#include "compare/runs/producer.h"

namespace opdump::blame {
namespace {

constexpr std::uint64_t kMostElements = 1 << 26;  // that are looked through for the whole of a part

}  // namespace

std::optional<dump::OperatorRun> find_producer(const dump::Runs& runs, const dump::OperatorRun& reader,
                                               const std::vector<std::uint64_t>& elements) {
  const auto place = compare::find_execution(runs, reader);
  if (!place) return std::nullopt;
  const compare::Fingerprint wanted = compare::fingerprint_of(elements);
  auto found = compare::find_last_output(runs, *place, [&](const dump::Slot& slot) {
    return model::element_count(*slot.shape) == elements.size() && compare::fingerprint_of(slot) == wanted;
  });
  if (!found) {
    std::unordered_set<std::uint64_t> samples;
    for (const std::size_t i : compare::sample_places(elements.size())) samples.insert(elements[i]);
    std::uint64_t left = kMostElements;
    found = compare::find_last_output(runs, *place, [&](const dump::Slot& slot) {
      const std::uint64_t count = model::element_count(*slot.shape).value_or(0);
      if (count <= elements.size() || count > left) return false;
      left -= count;
      return compare::has_most(slot, samples);
    });
  }
  return found ? std::optional(runs.without_slots(*found)) : std::nullopt;
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
