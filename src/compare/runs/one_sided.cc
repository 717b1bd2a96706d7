#include "compare/runs/one_sided.h"

#include <map>

#include "compare/equivalence.h"
#include "compare/names.h"
#include "compare/runs/rewritten.h"
#include "model/operator.h"

namespace opdump::compare {
namespace {

struct Passes {
  std::size_t forward = 0;            // operators that both runs have
  bool is_rewritten = false;          // one run has another forward pass
  bool has_backward_of_both = false;  // an operator of the backward pass that both have
  bool in_golden = false, in_actual = false;
  std::optional<std::size_t> first = {};  // of its backward pass that computes: a place in the pairs

  bool are_one_sided() const {
    return forward > 0 && !is_rewritten && !has_backward_of_both && in_golden != in_actual && first;
  }
};

bool only_cuts(std::string_view type) { return type == "detach" || type == "detach_" || only_moves(type); }

bool is_view(std::string_view type) {
  return type == "view" || type == "_unsafe_view" || type == "t" || type == "transpose" || type == "expand";
}

}  // namespace

std::optional<std::size_t> find_one_sided_backward(const dump::Runs& golden, const dump::Runs& actual,
                                                   const std::vector<OperatorPair>& pairs) {
  using Place = RewrittenModules::Place;
  const auto run_of = [&](const OperatorPair& pair) {
    return pair.golden != OperatorPair::kNone ? golden.without_slots(pair.golden)
                                              : actual.without_slots(pair.actual);
  };
  const auto is_paired = [](const OperatorPair& pair) {
    return pair.golden != OperatorPair::kNone && pair.actual != OperatorPair::kNone;
  };
  std::map<Place, Passes> modules;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (is_paired(pairs[i]) || pairs[i].is_alone) continue;
    const dump::OperatorRun run = run_of(pairs[i]);
    if (run.op == nullptr || run.op->phase != model::Phase::backward) continue;
    Passes& passes = modules[RewrittenModules::place_of(run)];
    (pairs[i].golden != OperatorPair::kNone ? passes.in_golden : passes.in_actual) = true;
    if (!passes.first && !only_cuts(run.type) && !is_view(run.type)) passes.first = i;
  }
  if (modules.empty()) return std::nullopt;
  for (const OperatorPair& pair : pairs) {
    const dump::OperatorRun run = run_of(pair);
    if (run.op == nullptr) continue;
    const auto module = modules.find(RewrittenModules::place_of(run));
    if (module == modules.end()) continue;
    Passes& passes = module->second;
    if (run.op->phase == model::Phase::backward)
      passes.has_backward_of_both |= is_paired(pair);
    else if (is_paired(pair))
      ++passes.forward;
    else
      passes.is_rewritten |= !only_cuts(run.type);
  }
  std::optional<std::size_t> first;
  for (const auto& [place, passes] : modules)
    if (passes.are_one_sided() && (!first || *passes.first < *first)) first = passes.first;
  return first;
}

std::string explain_one_sided_backward(const dump::OperatorRun& run, bool is_in_golden) {
  const std::string has = is_in_golden ? "golden" : "actual", lacks = is_in_golden ? "actual" : "golden";
  return "only in " + has + ", like the whole backward pass of " +
         one_line(std::get<std::string>(RewrittenModules::place_of(run))) + ": no gradient reaches it in " +
         lacks;
}

}  // namespace opdump::compare
