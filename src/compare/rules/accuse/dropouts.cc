#include "compare/rules/accuse/dropouts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/facts/rewritten.h"
#include "model/operator.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;

// What an argument of an operator makes of the probability to drop an element.
enum class Meaning : std::uint8_t { dropped, kept, scale };

struct DropoutArgument {
  std::string_view type, argument;
  Meaning meaning;
};

constexpr DropoutArgument kArguments[] = {{"native_dropout", "p", Meaning::dropped},
                                          {"bernoulli", "p", Meaning::kept},
                                          {"bernoulli_", "p", Meaning::kept},
                                          {"div_", "other", Meaning::kept},
                                          {"native_dropout_backward", "scale", Meaning::scale}};

std::optional<double> drop_probability(const OperatorRun& run) {
  const auto found = std::ranges::find(kArguments, run.type, &DropoutArgument::type);
  if (found == std::end(kArguments) || run.form == nullptr) return std::nullopt;
  const auto arguments = parse_ordered_json(run.form->arguments);
  const auto value = arguments.is_object() ? arguments.find(found->argument) : arguments.end();
  if (value == arguments.end() || !value->is_number()) return std::nullopt;
  const double number = value->get<double>();
  switch (found->meaning) {
    case Meaning::dropped:
      return number;
    case Meaning::kept:
      return 1 - number;
    case Meaning::scale:
      return 1 - 1 / number;
  }
  return std::nullopt;
}

std::optional<std::string> describe(std::optional<double> golden, std::optional<double> actual) {
  constexpr double kRounding = 1e-6;
  if (!golden || !actual || std::abs(*golden - *actual) <= kRounding) return std::nullopt;
  return "dropout p is " + format_g(*golden) + " in golden and " + format_g(*actual) + " in actual";
}

// The dropouts of a module, in the order of execution.
struct OfModule {
  std::vector<double> golden, actual;
  std::vector<std::size_t> places;  // of those of actual, in the pairs
};

}  // namespace

std::optional<std::string> find_dropout_difference(const OperatorRun& golden, const OperatorRun& actual) {
  return describe(drop_probability(golden), drop_probability(actual));
}

std::optional<OtherDropout> find_other_dropout(const dump::Runs& golden, const dump::Runs& actual,
                                               std::span<const OperatorPair> pairs) {
  std::map<RewrittenModules::Place, OfModule> modules;
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    if (pairs[place].is_whole()) continue;
    const bool is_golden = pairs[place].golden != OperatorPair::kNone;
    const dump::Runs& runs = is_golden ? golden : actual;
    const std::uint32_t index = is_golden ? pairs[place].golden : pairs[place].actual;
    OperatorRun run = runs.without_slots(index);
    if (run.op == nullptr || run.op->phase != model::Phase::forward ||
        !model::has_trait(run.type, model::Trait::random))
      continue;
    run.form = runs.form_of(index);
    const auto p = drop_probability(run);
    if (!p) continue;
    OfModule& module = modules[RewrittenModules::place_of(run)];
    (is_golden ? module.golden : module.actual).push_back(*p);
    if (!is_golden) module.places.push_back(place);
  }
  std::optional<OtherDropout> first;
  for (const auto& [where, module] : modules) {
    if (module.golden.size() != module.actual.size()) continue;
    for (std::size_t i = 0; i < module.golden.size(); ++i) {
      auto text = describe(module.golden[i], module.actual[i]);
      if (text && (!first || module.places[i] < first->place))
        first = {.place = module.places[i], .text = std::move(*text)};
    }
  }
  return first;
}

}  // namespace opdump::compare
