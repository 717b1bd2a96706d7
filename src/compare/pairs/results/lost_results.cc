#include "compare/pairs/results/lost_results.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::compare {
namespace {

// How much of a tensor an operator must change in place for the tensor to show what it was changed by: what
// is made of gradients, and others, as the statistics that a normalisation keeps.
constexpr double kSeen = 20 * kLater.prints, kSeenForward = 0.2;

// Backwards: what is made of a result is known before the result is looked at.
void find_what_leads_to_known(ResultGraph& run) {
  const std::span<ResultNode> nodes = run.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const auto execution = static_cast<std::uint32_t>(&*node - nodes.data());
    node->is_for_update = !node->begins_backward && !node->readers.empty() &&
                          std::ranges::all_of(node->readers, [&](const ResultReader& reader) {
                            const ResultNode& next = nodes[reader.execution];
                            return next.part == StepPart::update || next.is_for_update ||
                                   (reader.is_change && reader.share > 0 && !next.feeds_step);
                          });
    node->feeds_step = std::ranges::any_of(node->readers, [&](const ResultReader& reader) {
      const ResultNode& next = nodes[reader.execution];
      return reader.share == 1 && next.part == StepPart::forward && !next.is_for_update &&
             run.step_of(reader.execution) == run.step_of(execution);
    });
    const bool is_forward = node->part == StepPart::forward && !node->is_for_update;
    node->is_parameter =
        is_forward && node->feeds_step && std::ranges::any_of(node->readers, [&](const ResultReader& reader) {
          return nodes[reader.execution].part == StepPart::update;
        });
    const auto shows_it = [&](const ResultReader& reader) {
      const ResultNode& next = nodes[reader.execution];
      const bool is_aside = next.is_for_update && is_forward;
      const double least = reader.is_change && is_forward ? kSeenForward : kSeen;
      return (reader.share >= least || (reader.share > 0 && next.feeds_step)) && !is_aside &&
             (next.leads_to_known || (next.is_known && next.is_telling));
    };
    // What a line reads in parts, as a loop does, it shows if half of them are known.
    struct Parts {
      std::size_t known = 0, all = 0;
    };
    std::map<std::pair<std::string, std::string>, Parts> lines;
    for (const ResultReader& reader : node->readers) {
      const bool shows = shows_it(reader);
      if (!reader.is_of_part) {
        node->leads_to_known |= shows;
        continue;
      }
      Parts& parts = lines[run.line_of(reader.execution)];
      ++parts.all;
      parts.known += shows;
    }
    node->leads_to_known |=
        std::ranges::any_of(lines, [](const auto& line) { return 2 * line.second.known >= line.second.all; });
  }
}

// Of a program that computes with constants alone, as a short one that reproduces something, they are data.
void take_constants_for_data(ResultGraph& run) {
  const auto tells = [](const ResultNode& node) { return node.is_telling; };
  const auto is_constant = [](const ResultNode& node) { return node.is_telling && node.is_constant; };
  if (2 * std::ranges::count_if(run.nodes(), is_constant) < std::ranges::count_if(run.nodes(), tells)) return;
  for (ResultNode& node : run.nodes()) node.is_constant = false;
}

// Where nothing is trained, what nothing reads is what a program is for: a part of what the other run lacks
// is lost, although it only moves.
void find_moved_outputs(ResultGraph& run) {
  if (run.trains()) return;
  const std::span<ResultNode> nodes = run.nodes();
  std::vector<bool> moves_unknown(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    ResultNode& node = nodes[i];
    const bool moves = node.only_moves || node.results.empty();
    if (moves && node.readers.empty())
      node.is_lost_output = node.is_telling && !node.is_known && moves_unknown[i];
    if (node.is_known || node.is_constant || (moves && !moves_unknown[i])) continue;
    for (const ResultReader& reader : node.readers) moves_unknown[reader.execution] = true;
  }
}

// Forwards: what is made of a result that is lost is lost, too, unless the other run has it.
void spread(ResultGraph& run) {
  for (ResultNode& node : run.nodes()) {
    node.is_lost = !node.is_constant && !node.is_known && !node.leads_to_known && !node.is_parameter &&
                   ((!node.results.empty() && (!node.only_moves || node.is_permuted)) || node.reads_lost ||
                    node.is_lost_output);
    if (!node.is_lost) continue;
    for (const ResultReader& reader : node.readers) run.nodes()[reader.execution].reads_lost = true;
  }
}

// What makes less than rounding of all that is made of it, if that is not lost itself.
void excuse_negligible(ResultGraph& run) {
  const std::span<ResultNode> nodes = run.nodes();
  for (std::size_t i = nodes.size(); i-- > 0;) {
    ResultNode& node = nodes[i];
    const auto is_rounding = [&](const ResultReader& reader) {
      const ResultNode& next = nodes[reader.execution];
      return !next.is_lost && (next.is_negligible || reader.is_backward_of || reader.share < kSeen);
    };
    const bool is_read =
        std::ranges::any_of(node.readers, [](const ResultReader& reader) { return !reader.is_backward_of; });
    node.is_negligible =
        node.is_noise || node.is_noisy || (is_read && std::ranges::all_of(node.readers, is_rounding));
    node.is_lost &= !node.is_negligible;
  }
}

// Nothing shows the updates after which the program ends. An optimizer may make much of gradients that are
// nothing but rounding: of few parameters, whose updates the next step has shown before.
void excuse_last_updates(ResultGraph& run) {
  const std::span<ResultNode> nodes = run.nodes();
  std::map<std::tuple<std::string, StepPart, std::int64_t>, std::vector<std::uint32_t>> kinds;
  std::set<std::uint32_t> shown;  // operators, by their number
  std::uint32_t last_layer = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].is_layer && nodes[i].part == StepPart::forward) last_layer = i;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].results.empty()) continue;
    if (i > last_layer && run.part_of(i) != StepPart::forward)
      kinds[{run.runs().without_slots(i).type, run.part_of(i), run.step_of(i)}].push_back(i);
    if (!nodes[i].is_lost) shown.insert(run.runs().operator_number(i));
  }
  for (const auto& [kind, executions] : kinds) {
    const auto is_lost = [&](std::uint32_t i) { return nodes[i].is_lost; };
    const auto lost = static_cast<std::size_t>(std::ranges::count_if(executions, is_lost));
    if (2 * lost >= executions.size()) continue;
    for (const std::uint32_t i : executions)
      if (nodes[i].is_lost && shown.contains(run.runs().operator_number(i))) nodes[i].is_lost = false;
  }
}

}  // namespace

void find_lost_results(ResultGraph& run) {
  take_constants_for_data(run);
  find_what_leads_to_known(run);
  find_moved_outputs(run);
  spread(run);
  excuse_negligible(run);
  excuse_last_updates(run);
  for (ResultNode& node : run.nodes())
    node.is_lost |= node.has_lost_state || (node.is_doubtful && !node.is_negligible);
}

Extras excuse_extras(ResultGraph& run) {
  const std::span<ResultNode> nodes = run.nodes();
  std::set<std::pair<std::string, std::string>> shown;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (!nodes[i].is_lost && !nodes[i].results.empty()) shown.insert(run.line_of(i));
  std::vector<bool> is_extra(nodes.size());
  for (auto i = static_cast<std::uint32_t>(nodes.size()); i-- > 0;) {
    const ResultNode& node = nodes[i];
    if (!node.is_lost || node.has_lost_state) continue;
    const bool is_unread =
        node.is_truth || node.part == StepPart::backward || shown.contains(run.line_of(i)) ||
        std::ranges::all_of(node.results, [](const MadeTensor& made) { return made.print.exact.count == 1; });
    is_extra[i] = (!node.readers.empty() || is_unread) &&
                  std::ranges::all_of(node.readers, [&](const ResultReader& reader) {
                    return is_extra[reader.execution] || !nodes[reader.execution].is_lost ||
                           nodes[reader.execution].results.empty();
                  });
  }
  Extras extras;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!is_extra[i]) continue;
    nodes[i].is_lost = false;
    if (nodes[i].results.empty()) continue;
    if (extras.count == 0) extras.first = i;
    ++extras.count;
  }
  return extras;
}

bool is_lost_result(const ResultNode& node) { return node.is_lost && !node.results.empty(); }

std::string describe_lost(const ResultGraph& run, std::string_view side) {
  const auto lost = static_cast<std::uint64_t>(std::ranges::count_if(run.nodes(), is_lost_result));
  if (lost == 0) return {};
  const auto first = std::ranges::find_if(run.nodes(), is_lost_result) - run.nodes().begin();
  return counted(lost, "result") + " of " + std::string(side) + ", the first of " +
         run.describe(static_cast<std::uint32_t>(first)) + ", " + inflect(lost, "is", "are") +
         " not in the other run, and neither is what is made of " + inflect(lost, "it", "them");
}

}  // namespace opdump::compare
