#include "compare/rules/accuse/one_sided.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "compare/facts/operator_kind.h"
#include "compare/facts/rewritten.h"
#include "compare/names.h"
#include "model/operator.h"

namespace opdump::compare {
namespace {

struct Passes {
  std::size_t forward = 0;    // operators that both runs have
  bool is_rewritten = false;  // one run has another forward pass
  bool in_golden = false, in_actual = false;
  bool is_read = false;                   // by what is no such pass
  std::optional<std::size_t> first = {};  // of its backward pass that computes: a place in the pairs

  bool are_one_sided() const {
    return forward > 0 && !is_rewritten && in_golden != in_actual && first && is_read;
  }
};

// Whether something reads what an operator of a backward pass makes that is in no backward pass, or that the
// other run has, too. `paired`: by execution.
bool is_read_elsewhere(const Wiring& wiring, const std::vector<bool>& paired, std::uint32_t execution) {
  if (!wiring.is_recorded()) return true;
  for (const dump::Slot& slot : wiring.runs().slots(execution)) {
    if (slot.side != model::Side::output) continue;
    for (const std::uint32_t reader : wiring.likely_readers({execution, slot.index}))
      if (paired[reader] || phase_of(wiring.runs().without_slots(reader)) != model::Phase::backward)
        return true;
  }
  return false;
}

bool computes(std::string_view type) { return kind_of(type).role == OperatorRole::computes; }

}  // namespace

std::optional<std::size_t> find_one_sided_backward(const Study& study) {
  const dump::Runs &golden = study.golden->runs(), &actual = study.actual->runs();
  const std::span<const OperatorPair> pairs = study.pairs;
  using Place = RewrittenModules::Place;
  const auto run_of = [&](const OperatorPair& pair) {
    return pair.golden != OperatorPair::kNone ? golden.without_slots(pair.golden)
                                              : actual.without_slots(pair.actual);
  };
  std::map<Place, Passes> modules;
  // By rank, step, type and whether golden has it, the modules in whose backward passes one run has such an
  // operator.
  std::map<std::tuple<std::uint32_t, std::int64_t, std::string, bool>, std::set<Place>> elsewhere;
  std::vector<bool> golden_paired(golden.size()), actual_paired(actual.size());
  for (const OperatorPair& pair : pairs)
    if (pair.is_whole()) golden_paired[pair.golden] = actual_paired[pair.actual] = true;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].is_whole() || pairs[i].is_alone) continue;
    const dump::OperatorRun run = run_of(pairs[i]);
    if (run.op == nullptr || run.op->phase != model::Phase::backward) continue;
    const Place place = RewrittenModules::place_of(run);
    elsewhere[{run.rank, run.step, run.type, pairs[i].golden != OperatorPair::kNone}].insert(place);
    Passes& passes = modules[place];
    (pairs[i].golden != OperatorPair::kNone ? passes.in_golden : passes.in_actual) = true;
    if (!passes.first && computes(run.type)) passes.first = i;
    if (!passes.is_read)
      passes.is_read = pairs[i].golden != OperatorPair::kNone
                           ? is_read_elsewhere(*study.golden_wiring, golden_paired, pairs[i].golden)
                           : is_read_elsewhere(*study.actual_wiring, actual_paired, pairs[i].actual);
  }
  if (modules.empty()) return std::nullopt;
  std::set<Place> with_gradients;  // in both runs
  std::set<Place> with_forward;    // in either run
  for (const OperatorPair& pair : pairs) {
    const dump::OperatorRun run = run_of(pair);
    if (run.op == nullptr) continue;
    const Place place = RewrittenModules::place_of(run);
    if (run.op->phase == model::Phase::backward && pair.is_whole()) with_gradients.insert(place);
    if (run.op->phase != model::Phase::backward) with_forward.insert(place);
    const auto module = modules.find(place);
    if (module == modules.end() || run.op->phase == model::Phase::backward) continue;
    if (pair.is_whole())
      ++module->second.forward;
    else
      module->second.is_rewritten |= computes(run.type);
  }
  // A gradient may be that of a part of the module. Where one is known, operators of one run compute the
  // forward pass again.
  const auto has_gradients = [&](const Place& place) {
    const auto& [rank, step, module] = place;
    if (with_gradients.contains(place)) return true;
    const auto part = with_gradients.lower_bound({rank, step, module + "/"});
    return part != with_gradients.end() && std::get<0>(*part) == rank && std::get<1>(*part) == step &&
           std::get<2>(*part).starts_with(module + "/");
  };
  // Whether the other run may have it under a name that is none of a module: torch before 2.6 does not name
  // modules in the backward pass of a compiled region, nor in that of a forward pass that is computed again.
  const auto is_no_module = [&](const Place& place) {
    return std::get<std::string>(place) == "Default" || !with_forward.contains(place);
  };
  const auto may_be_nameless = [&](const Passes& passes) {
    const dump::OperatorRun run = run_of(pairs[*passes.first]);
    const auto found = elsewhere.find({run.rank, run.step, run.type, passes.in_actual});
    return found != elsewhere.end() && std::ranges::any_of(found->second, is_no_module);
  };
  std::optional<std::size_t> first;
  for (const auto& [place, passes] : modules)
    if (passes.are_one_sided() && (!first || *passes.first < *first) && !has_gradients(place) &&
        !may_be_nameless(passes))
      first = passes.first;
  return first;
}

std::string explain_one_sided_backward(const dump::OperatorRun& run, bool is_in_golden) {
  const std::string has = is_in_golden ? "golden" : "actual", lacks = is_in_golden ? "actual" : "golden";
  return "only in " + has + ", like the whole backward pass of " +
         one_line(std::get<std::string>(RewrittenModules::place_of(run))) + ": no gradient reaches it in " +
         lacks;
}

}  // namespace opdump::compare
