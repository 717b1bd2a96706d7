#include "compare/pairs/across/renamed.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"

namespace opdump::compare {
namespace {

constexpr std::uint64_t kFewest = 3;  // operators that say something of a network
constexpr double kPaired = 0.9;

}  // namespace

bool computes_in_module(const dump::OperatorRun& run) {
  constexpr std::string_view kRoot = "Default/";
  const std::string& name = operator_name(run);
  return phase_of(run) == model::Phase::forward && kind_of(run.type).role == OperatorRole::computes &&
         name.starts_with(kRoot) && name.rfind('/') >= kRoot.size();
}

bool may_be_renamed(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs) {
  std::uint64_t of_golden = 0, of_actual = 0, paired = 0;
  const auto computes = [](const dump::Runs& runs, std::uint32_t execution) {
    return execution != OperatorPair::kNone && computes_in_module(runs.without_slots(execution));
  };
  for (const OperatorPair& pair : pairs) {
    if (pair.is_alone) continue;
    const bool in_golden = computes(golden, pair.golden), in_actual = computes(actual, pair.actual);
    of_golden += in_golden;
    of_actual += in_actual;
    paired += in_golden && in_actual;
  }
  const std::uint64_t fewer = std::min(of_golden, of_actual);
  return fewer >= kFewest && static_cast<double>(paired) < kPaired * static_cast<double>(fewer);
}

double paired_share(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs) {
  struct Share {
    std::uint64_t of_golden = 0, of_actual = 0, paired = 0;

    void add(bool in_golden, bool in_actual) {
      of_golden += in_golden;
      of_actual += in_actual;
      paired += in_golden && in_actual;
    }
    double value() const {
      return static_cast<double>(paired) /
             static_cast<double>(std::max({of_golden, of_actual, std::uint64_t{1}}));
    }
  };
  Share all, backward;
  for (const OperatorPair& pair : pairs) {
    if (pair.is_alone) continue;
    const auto computes = [](const dump::Runs& runs, std::uint32_t execution, bool is_any) {
      if (execution == OperatorPair::kNone) return false;
      const dump::OperatorRun run = runs.without_slots(execution);
      return kind_of(run.type).role == OperatorRole::computes &&
             (is_any || phase_of(run) == model::Phase::backward);
    };
    all.add(computes(golden, pair.golden, true), computes(actual, pair.actual, true));
    backward.add(computes(golden, pair.golden, false), computes(actual, pair.actual, false));
  }
  const bool have_gradients = std::min(backward.of_golden, backward.of_actual) >= kFewest;
  return (have_gradients ? backward : all).value();
}

}  // namespace opdump::compare
