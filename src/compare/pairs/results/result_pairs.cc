#include "compare/pairs/results/result_pairs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/pairs/results/known_results.h"
#include "compare/pairs/results/lost_results.h"
#include "compare/pairs/results/made_tensors.h"
#include "compare/pairs/results/parting.h"
#include "compare/pairs/results/result_graph.h"
#include "compare/wiring/tensor_print.h"

namespace opdump::compare {
namespace {

// Pairs what makes the same, each once, in order: in the same step if possible.
void join_results(ResultGraph& golden, ResultGraph& actual) {
  for (std::uint32_t g = 0; g < golden.nodes().size(); ++g) {
    ResultNode& node = golden.nodes()[g];
    if (!node.is_known) continue;
    const std::int64_t step = golden.runs().section_of(g).step;
    const MadeTensor* best = nullptr;
    const auto rank = [&](const MadeTensor& made) {
      const bool is_other_type =
          golden.runs().without_slots(g).type != actual.runs().without_slots(made.execution).type;
      return std::tuple(actual.runs().section_of(made.execution).step != step, is_other_type, made.execution);
    };
    for (const MadeTensor* same : actual.made().find(node.results.front().print, golden.tolerance_of(g))) {
      const ResultNode& other = actual.nodes()[same->execution];
      if (!other.is_known || other.partner != OperatorPair::kNone || same->is_read ||
          other.results.front().output != same->output)
        continue;
      if (best == nullptr || rank(*same) < rank(*best)) best = same;
    }
    if (best == nullptr) continue;
    node.partner = best->execution;
    actual.nodes()[best->execution].partner = g;
  }
}

// Where all that one program makes is in the other one, this one may compute more than that.
void excuse_extras(ResultGraph& golden, ResultGraph& actual, Pairing& pairing) {
  const bool is_in_golden = std::ranges::any_of(golden.nodes(), is_lost_result);
  if (is_in_golden && std::ranges::any_of(actual.nodes(), is_lost_result)) return;
  ResultGraph& run = is_in_golden ? golden : actual;
  const Extras extras = excuse_extras(run);
  if (extras.count == 0) return;
  pairing.notes.push_back(std::string(is_in_golden ? "golden" : "actual") + " alone computes " +
                          counted(extras.count, "result") + " that nothing reads, the first of " +
                          run.describe(extras.first));
}

// Whether what is lost begins at an execution, or is made of a constant or of data that it makes.
bool begins_loss(const ResultGraph& run, std::uint32_t execution) {
  const ResultNode& first = run.nodes()[execution];
  if (first.is_lost) return !first.reads_lost;
  std::set<std::uint32_t> seen{execution};
  for (std::vector<std::uint32_t> open{execution}; !open.empty();) {
    const ResultNode& node = run.nodes()[open.back()];
    open.pop_back();
    if (node.is_lost) return true;
    if (!node.is_constant && !node.only_moves) continue;
    for (const ResultReader& reader : node.readers)
      if (seen.insert(reader.execution).second) open.push_back(reader.execution);
  }
  return false;
}

// Whether two operators that other pairs accuse are no place where a difference begins: each makes another
// result, and neither loses one or both read what is lost already.
bool are_mispaired(const ResultGraph& golden, const ResultGraph& actual, const OperatorPair& accused,
                   bool has_other_arguments) {
  if (!accused.is_whole() || !golden.trains() || !actual.trains()) return false;
  const ResultNode &g = golden.nodes()[accused.golden], &a = actual.nodes()[accused.actual];
  if (has_other_arguments && !(g.is_constant && a.is_constant)) return false;
  const auto print_of = [](const ResultNode& node) -> const TensorPrint* {
    if (!node.results.empty()) return &node.results.front().print;
    const auto other = std::ranges::find(node.others, false, &MadeTensor::is_read);
    return other == node.others.end() ? nullptr : &other->print;
  };
  const TensorPrint *of_golden = print_of(g), *of_actual = print_of(a);
  return of_golden != nullptr && of_actual != nullptr && !begins_loss(golden, accused.golden) &&
         !begins_loss(actual, accused.actual) && distance(*of_golden, *of_actual) > kLater.prints;
}

// What pairs by results rest on: how much of what golden computes the other run makes as well.
std::string describe_shown(const ResultGraph& golden) {
  struct Share {
    std::uint64_t known = 0, all = 0;
    void add(const ResultNode& node) {
      ++all;
      known += node.is_known;
    }
    std::string of(const char* one, const char* many) const {
      return std::to_string(known) + " of " + std::to_string(all) + " " + inflect(all, one, many);
    }
  };
  Share losses, forward, backward, updates;
  for (std::uint32_t i = 0; i < golden.nodes().size(); ++i) {
    const ResultNode& node = golden.nodes()[i];
    if (node.results.empty()) continue;
    if (node.begins_backward) losses.add(node);
    if (!node.is_telling || node.only_moves || node.is_constant) continue;
    const StepPart part = golden.part_of(i);
    (part == StepPart::forward ? forward : part == StepPart::backward ? backward : updates).add(node);
  }
  std::string text = "of golden, actual makes " + forward.of("result", "results") + " of forward passes";
  if (losses.all > 0) text += ", " + losses.of("loss", "losses");
  if (backward.all > 0) text += ", " + backward.of("gradient", "gradients");
  if (updates.all > 0) text += ", " + updates.of("update", "updates");
  return text;
}

void separate(ResultGraph& run, ResultGraph& other, std::uint32_t execution) {
  const std::uint32_t partner = std::exchange(run.nodes()[execution].partner, OperatorPair::kNone);
  if (partner != OperatorPair::kNone) other.nodes()[partner].partner = OperatorPair::kNone;
}

void append_single(Pairing& pairing, const ResultGraph& run, std::uint32_t execution, bool is_golden) {
  OperatorPair& pair = pairing.pairs.emplace_back();
  (is_golden ? pair.golden : pair.actual) = execution;
  const OperatorRole role = kind_of(run.runs().without_slots(execution).type).role;
  pair.fusion = role == OperatorRole::moves   ? Fusion::moves
                : role == OperatorRole::makes ? Fusion::makes
                                              : Fusion::inside;
}

}  // namespace

std::optional<Pairing> pair_results(const Wiring& golden, const Wiring& actual, unsigned threads,
                                    const std::optional<OperatorPair>& accused, bool has_other_arguments) {
  if (!golden.is_recorded() || !actual.is_recorded() || golden.runs().size() == 0 ||
      actual.runs().size() == 0)
    return std::nullopt;
  ResultGraph of_golden(golden, threads), of_actual(actual, threads);
  find_known_results(of_golden, of_actual, threads);
  for (ResultGraph* run : {&of_golden, &of_actual}) find_lost_results(*run);
  const auto is_known = [](const ResultNode& node) { return node.is_known && node.is_telling; };
  if (std::ranges::none_of(of_golden.nodes(), is_known)) return std::nullopt;
  if (accused && !are_mispaired(of_golden, of_actual, *accused, has_other_arguments)) return std::nullopt;
  join_results(of_golden, of_actual);
  Pairing pairing;
  excuse_extras(of_golden, of_actual, pairing);
  const auto parting = find_parting(of_golden, of_actual);
  if (parting) {
    separate(of_golden, of_actual, parting->first);
    separate(of_actual, of_golden, parting->second);
    of_golden.nodes()[parting->first].partner = parting->second;
    of_actual.nodes()[parting->second].partner = parting->first;
  } else {
    for (const auto& [run, side] : {std::pair(&of_golden, "golden"), std::pair(&of_actual, "actual")})
      if (std::string reason = describe_lost(*run, side); !reason.empty())
        pairing.incomplete.push_back(std::move(reason));
  }
  std::uint32_t next = 0;
  std::uint64_t by_results = 0;
  const auto append_singles = [&](std::uint32_t last) {
    for (; next < last; ++next)
      if (of_actual.nodes()[next].partner == OperatorPair::kNone)
        append_single(pairing, of_actual, next, false);
  };
  for (std::uint32_t g = 0; g < of_golden.nodes().size(); ++g) {
    const std::uint32_t partner = of_golden.nodes()[g].partner;
    if (partner == OperatorPair::kNone) {
      append_single(pairing, of_golden, g, true);
      continue;
    }
    append_singles(partner);
    const bool is_point = parting && g == parting->first;
    by_results += !is_point;
    pairing.pairs.push_back({.golden = g,
                             .actual = partner,
                             .fusion = is_point ? Fusion::parting : Fusion::result,
                             .paired_by = is_point ? PairedBy::data_flow : PairedBy::values});
  }
  append_singles(static_cast<std::uint32_t>(of_actual.nodes().size()));
  pairing.notes.push_back(counted(by_results, "operator", "are") +
                          " paired by what they make, not by names: " + describe_shown(of_golden));
  return pairing;
}

}  // namespace opdump::compare
