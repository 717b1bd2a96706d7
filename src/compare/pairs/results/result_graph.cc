#include "compare/pairs/results/result_graph.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/text/text.h"
#include "base/worker_pool.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/wiring/tensor_print.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

constexpr std::string_view kLayers[] = {"conv",      "linear",    "batchnorm", "layernorm",
                                        "groupnorm", "embedding", "recurrent", "attention"};

constexpr std::size_t kTensorsOfLayer = 3;  // that an operator reads which computes a layer at once

// What a sum leaves of its terms where they cancel: rounding, of float32.
constexpr double kCancelled = 2e-5;

bool is_bool(model::DType dtype) { return dtype == model::DType::boolean; }

}  // namespace

ResultGraph::ResultGraph(const Wiring& wiring, unsigned threads)
    : wiring_(wiring), nodes_(wiring.runs().size()) {
  wiring.recorded(0, 0);  // which reads the wiring, once
  parallel_for(nodes_.size(), threads, [&](std::size_t i) { read(static_cast<std::uint32_t>(i)); });
  find_gradient_passes();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) find_readers(i);
  for (const ResultNode& node : nodes_) {
    for (const MadeTensor& made : node.results) made_.add(made);
    for (const MadeTensor& made : node.others) made_.add(made);
    for (const MadeTensor& made : node.state) made_.add(made);
  }
}

StepPart ResultGraph::part_of(std::uint32_t execution) const {
  const ResultNode& node = nodes_[execution];
  const bool updates = node.is_for_update || node.has_lost_state;
  return node.part == StepPart::forward && updates ? StepPart::update : node.part;
}

const PrintTolerance& ResultGraph::tolerance_of(std::uint32_t execution) const {
  const ResultNode& node = nodes_[execution];
  return node.part == StepPart::forward && !node.follows_update ? kFirstForward : kLater;
}

bool ResultGraph::has_loss(std::uint32_t execution) const {
  const auto loss = losses_.find(step_of(execution));
  return loss != losses_.end() && execution <= loss->second;
}

std::string ResultGraph::source_of(std::uint32_t execution) const {
  const dump::OperatorRun run = runs().without_slots(execution);
  const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
  return source.empty() ? operator_name(run) : source;
}

std::pair<std::string, std::string> ResultGraph::line_of(std::uint32_t execution) const {
  return {source_of(execution), runs().without_slots(execution).type};
}

std::string ResultGraph::describe(std::uint32_t execution) const {
  const dump::OperatorRun run = runs().without_slots(execution);
  const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
  return one_line(operator_name(run)) + (source.empty() ? "" : " at " + source);
}

std::vector<std::uint32_t> ResultGraph::writers(std::uint32_t execution, std::uint32_t input) const {
  std::vector<std::uint32_t> found = wiring_.writers(execution, input).executions;
  std::erase_if(found, [&](std::uint32_t writer) { return writer >= execution; });
  return found;
}

// Whether another execution is known to have made an input as it is.
bool ResultGraph::is_made_here(std::uint32_t execution, std::uint32_t input) const {
  const auto maker = wiring_.recorded(execution, input).maker;
  return maker && !wiring_.is_view(maker->execution);
}

// The first output is the result of an operator; those of an optimizer's lists all are. Whole numbers, as
// counts of steps, say nothing.
void ResultGraph::read(std::uint32_t execution) {
  ResultNode& node = nodes_[execution];
  constexpr std::uint32_t kFirstState = 3;  // after data, weight and bias
  const dump::OperatorRun run = runs().without_slots(execution);
  const bool is_list = phase_of(run) == model::Phase::optimizer;
  const bool keeps_state = kind_of(run.type).name == "batchnorm";
  for (const dump::Slot& slot : runs().slots(execution)) {
    if (slot.undumped_reason == "view") continue;
    const bool is_input = slot.side == model::Side::input;
    if (is_input && !keeps_state && is_made_here(execution, slot.index)) continue;
    const auto print = print_of(slot);
    if (!print) continue;
    if (is_input) {
      if (!is_made_here(execution, slot.index))
        node.others.push_back({execution, slot.index, slot.shape, *print, true});
      if (keeps_state && slot.index >= kFirstState && print->is_distinctive())
        node.state.push_back({execution, slot.index, slot.shape, *print, true});
      continue;
    }
    const bool is_number = print->exact.count == 1;
    const bool is_whole = is_number && std::floor(print->mean) == print->mean;
    const bool is_other = is_whole || (!is_list && slot.index > 0 && !node.results.empty());
    (is_other ? node.others : node.results).push_back({execution, slot.index, slot.shape, *print});
    node.is_coarse |= !is_other && model::is_floating(slot.dtype) && model::dtype_info(slot.dtype).bits <= 16;
    node.is_truth |= !is_other && is_bool(slot.dtype);
    node.is_telling |= !is_other && model::is_floating(slot.dtype) && (is_number || print->is_distinctive());
  }
}

// What is made of gradients is no update if a later backward pass of the step goes through it, as through the
// residual of a differential equation. What changes memory in place may be an update before the next pass.
void ResultGraph::find_gradient_passes() {
  for (auto i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0;) {
    const dump::OperatorRun run = runs().without_slots(i);
    const bool is_backward = phase_of(run) == model::Phase::backward;
    if (!is_backward && (!nodes_[i].has_gradients || run.type.ends_with('_'))) continue;
    for (const dump::Slot& slot : runs().slots(i)) {
      if (slot.side != model::Side::input) continue;
      for (const std::uint32_t writer : writers(i, slot.index))
        nodes_[writer].has_gradients |= step_of(writer) == run.step;
    }
  }
}

// How many elements an operator takes of an input: a view those that it shows.
std::uint64_t ResultGraph::count_read(std::uint32_t execution, const dump::Slot& input) const {
  std::uint64_t count = element_count_of(input);
  if (!wiring_.is_view(execution)) return count;
  for (const dump::Slot& slot : runs().slots(execution))
    if (slot.side == model::Side::output) count = std::min(count, element_count_of(slot));
  return count;
}

void ResultGraph::find_readers(std::uint32_t execution) {
  const dump::OperatorRun run = runs().without_slots(execution);
  ResultNode& node = nodes_[execution];
  const bool is_random = model::has_trait(run.type, model::Trait::random);
  node.is_constant = !is_random;
  const OperatorKind kind = kind_of(run.type);
  node.is_layer = std::ranges::find(kLayers, kind.name) != std::end(kLayers);
  node.only_moves = kind.role == OperatorRole::moves || kind.name == "concat" ||
                    (kind.role == OperatorRole::makes && is_random);
  node.part = find_part(execution, run);
  const bool makes = kind.role == OperatorRole::makes;
  const bool updates = !makes && updates_state(execution);
  const double change = run.type.ends_with('_') || updates ? change_of(execution) : 1;
  const bool adds = change == 1 && kind.name == "add";
  if (is_state(execution, 0)) node.change = change;
  if (updates) node.part = StepPart::update;
  if (updates && has_few_values(execution)) node.is_telling = false;
  std::size_t tensors = 0;
  for (const dump::Slot& slot : runs().slots(execution)) {
    if (slot.side != model::Side::input) continue;
    tensors += model::is_floating(slot.dtype) && slot.shape && element_count_of(slot) > 1;
    node.is_layer |= tensors >= kTensorsOfLayer;
    const std::vector<std::uint32_t> made_by = writers(execution, slot.index);
    if (makes) {  // it reads a shape
      for (const std::uint32_t writer : made_by)
        if (node.part == StepPart::backward) {
          nodes_[writer].begins_backward = true;
          losses_[step_of(writer)] = writer;
        }
      continue;
    }
    node.is_constant &= !made_by.empty() && std::ranges::all_of(made_by, [&](std::uint32_t writer) {
      return nodes_[writer].is_constant;
    });
    const double share = adds ? share_of(execution, slot.index) : change;
    for (const std::uint32_t writer : made_by) {
      node.follows_update |= nodes_[writer].follows_update || nodes_[writer].part == StepPart::update;
      const bool is_behind = nodes_[writer].part == StepPart::forward && node.part == StepPart::backward;
      const bool is_changed = slot.index == 0 && run.type.ends_with('_');
      const bool is_change = !is_changed && change < 1;
      const std::vector<MadeTensor>& made = nodes_[writer].results;
      nodes_[writer].readers.push_back(
          {.execution = execution,
           .share = is_changed  ? 1
                    : is_behind ? 0
                                : share,
           .is_change = is_change,
           .is_of_part = made.size() == 1 && count_read(execution, slot) < made.front().print.exact.count,
           .is_backward_of = is_behind});
    }
  }
  if (node.part != StepPart::forward) find_noise(execution, run);
}

StepPart ResultGraph::find_part(std::uint32_t execution, const dump::OperatorRun& run) {
  switch (phase_of(run)) {
    case model::Phase::backward:
      return StepPart::backward;
    case model::Phase::optimizer:
      return StepPart::update;
    case model::Phase::forward:
      break;
  }
  ResultNode& node = nodes_[execution];
  bool reads_updates = false, reads_data = false;
  for (const dump::Slot& slot : runs().slots(execution)) {
    if (slot.side != model::Side::input) continue;
    bool is_data = slot.shape && slot.shape->rank() > 1;
    for (const std::uint32_t writer : writers(execution, slot.index)) {
      reads_updates |= nodes_[writer].part != StepPart::forward && step_of(writer) == run.step;
      node.is_evaluation |= nodes_[writer].is_evaluation && step_of(writer) == run.step;
      is_data &= nodes_[writer].part == StepPart::forward;
    }
    reads_data |= is_data;
  }
  node.is_evaluation |= reads_updates && reads_data && node.is_layer;
  const bool changes = run.type.ends_with('_');
  const bool is_pass = node.is_evaluation || (node.has_gradients && !changes);
  return reads_updates && !is_pass ? StepPart::update : StepPart::forward;
}

// Whether an operator changes in place what was there before its step.
bool ResultGraph::updates_state(std::uint32_t execution) {
  const dump::OperatorRun run = runs().without_slots(execution);
  if (phase_of(run) == model::Phase::optimizer) return true;
  if (!run.type.ends_with('_') || model::has_trait(run.type, model::Trait::overwrites)) return false;
  const bool is_old = std::ranges::all_of(writers(execution, 0), [&](std::uint32_t writer) {
    return step_of(writer) != run.step || state_.contains(writer);
  });
  if (is_old) state_.insert(execution);
  return is_old;
}

// Whether an input was there before the updates of its step, which have changed it in place at most.
bool ResultGraph::is_state(std::uint32_t execution, std::uint32_t input) const {
  return std::ranges::all_of(writers(execution, input), [&](std::uint32_t writer) {
    return nodes_[writer].part != StepPart::update || step_of(writer) != step_of(execution) ||
           runs().without_slots(writer).type.ends_with('_');
  });
}

// How much an operator changes in place, as a distance of prints: the least of its tensors.
double ResultGraph::change_of(std::uint32_t execution) const {
  std::vector<TensorPrint> before;
  for (const dump::Slot& slot : runs().slots(execution))
    if (slot.side == model::Side::input && slot.index < nodes_[execution].results.size())
      if (const auto print = print_of(slot)) before.push_back(*print);
  double least = 1;
  for (const MadeTensor& made : nodes_[execution].results)
    for (const TensorPrint& old : before) least = std::min(least, distance(made.print, old));
  return least;
}

// How much of a sum of two tensors is that one: how far the sum is from the other one.
double ResultGraph::share_of(std::uint32_t execution, std::uint32_t input) const {
  const std::vector<MadeTensor>& sum = nodes_[execution].results;
  double share = 1;
  if (sum.empty()) return share;
  for (const dump::Slot& slot : runs().slots(execution))
    if (slot.side == model::Side::input && slot.index != input)
      if (const auto print = print_of(slot)) share = std::min(share, distance(sum.front().print, *print));
  return share;
}

// As the first update of an optimizer that divides gradients by their size gives to biases.
bool ResultGraph::has_few_values(std::uint32_t execution) const {
  constexpr std::size_t kFew = 8;
  for (const dump::Slot& slot : runs().slots(execution)) {
    if (slot.side != model::Side::output) continue;
    const std::vector<std::uint64_t> elements = elements_of(slot);
    const std::size_t values = std::set<std::uint64_t>(elements.begin(), elements.end()).size();
    if (values > kFew || 2 * values > elements.size()) return false;
  }
  return true;
}

// Whether nothing is left of what an operator sums up, as of the gradients of a bias before a normalisation.
bool ResultGraph::is_cancelled(std::uint32_t execution, const dump::OperatorRun& run) const {
  const std::vector<MadeTensor>& sum = nodes_[execution].results;
  if (sum.empty() || kind_of(run.type).name != "sum") return false;
  for (const dump::Slot& slot : runs().slots(execution))
    if (slot.side == model::Side::input)
      if (const auto terms = print_of(slot)) return sum.front().print.norm <= kCancelled * terms->norm;
  return false;
}

// Gradients that are nothing but rounding are others in each program, and so is all that an optimizer makes
// of them. A number that is made of many gradients, as their norm, is none of them.
void ResultGraph::find_noise(std::uint32_t execution, const dump::OperatorRun& run) {
  ResultNode& node = nodes_[execution];
  if (node.results.size() != 1) return;
  node.is_noise = is_cancelled(execution, run);
  const bool makes_number = node.results.front().print.exact.count == 1;
  const bool updates = state_.contains(execution);
  bool reads_noise = false, reads_others = false;
  for (const dump::Slot& slot : runs().slots(execution)) {
    if (slot.side != model::Side::input || !model::is_floating(slot.dtype) || !slot.shape) continue;
    const bool is_number = element_count_of(slot) == 1;
    const std::vector<std::uint32_t> made_by = writers(execution, slot.index);
    for (const std::uint32_t writer : made_by) {
      const ResultNode& maker = nodes_[writer];
      reads_noise |= maker.is_noise;
      node.is_noisy |= (maker.is_noise || maker.is_noisy) && (!is_number || updates);
    }
    const bool scales = is_number && !makes_number;
    reads_others |= !scales && (made_by.empty() || !std::ranges::all_of(made_by, [&](std::uint32_t writer) {
                                  return nodes_[writer].is_noise || nodes_[writer].is_constant;
                                }));
  }
  node.is_noise |= reads_noise && !reads_others;
  node.is_noisy &= node.part == StepPart::update;
}

}  // namespace opdump::compare
