#include "compare/pairs/across/result_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "base/worker_pool.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/across/made_tensors.h"
#include "compare/wiring/tensor_print.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// How much of a tensor an operator must change in place for the tensor to show what it was changed by: what
// is made of gradients, and others, as the statistics that a normalisation keeps.
constexpr double kSeen = 20 * kLater.prints, kSeenForward = 0.2;

constexpr std::string_view kLayers[] = {"conv",      "linear",    "batchnorm", "layernorm",
                                        "groupnorm", "embedding", "recurrent", "attention"};

constexpr std::size_t kTensorsOfLayer = 3;  // that an operator reads which computes a layer at once

// Of a step, in order. What reads gradients outside of a backward pass is an update.
enum class StepPart : std::uint8_t { forward, backward, update };

struct ResultReader {
  std::uint32_t execution = 0;
  // How much of what it makes depends on the numbers that it reads here: of what it changes in place, the
  // share that it changes; else all or nothing.
  double share = 0;
};

struct ResultNode {
  StepPart part = StepPart::forward;
  std::vector<MadeTensor> results = {};
  std::vector<MadeTensor> state = {};   // that it reads and changes without saying so, as running statistics
  std::vector<MadeTensor> others = {};  // that it makes beside, as the statistics of a normalisation
  std::vector<ResultReader> readers = {};
  std::uint32_t partner = OperatorPair::kNone;  // that makes the same result
  bool follows_update = false;                  // it is made of what an update has changed
  bool is_for_update = false;                   // only state is made of its result
  bool feeds_step = false;                      // the forward pass of its step goes on with it
  bool begins_backward = false;                 // gradients of its result are computed
  bool has_lost_state = false;                  // that the other run does not have
  bool is_layer = false;                        // it reads weights, as most operators of its kind
  bool only_moves = false;                      // its result is data, or has the elements of what it reads
  bool is_constant = false;                     // made of no data
  bool is_telling = false;                      // its result shows what it is made of
  bool is_known = false;                        // the other run has all its results
  bool leads_to_known = false, is_lost = false, reads_lost = false;
};

// Where a program calls operators of one type in one step.
using ProgramLine = std::tuple<std::string, std::string, std::int64_t, model::Phase>;

// Executions of one line that lose something, and read nothing that is lost.
struct PartingPoint {
  std::uint32_t first = 0;
  std::uint64_t in_pass = 0;  // results of the forward pass of the step that are lost with theirs
  bool is_most_of_line = false;
  bool reaches_loss = false;  // of which gradients are computed
  bool has_tensors = false;   // layers of a network are lost, or more than numbers that nothing reads
};

// One run as a graph of results.
class ProgramResults {
 public:
  ProgramResults(const Wiring& wiring, unsigned threads) : wiring_(wiring), nodes_(wiring.runs().size()) {
    wiring.recorded(0, 0);  // which reads the wiring, once
    parallel_for(nodes_.size(), threads, [&](std::size_t i) { read(static_cast<std::uint32_t>(i)); });
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) find_readers(i);
    for (const ResultNode& node : nodes_) {
      for (const MadeTensor& made : node.results) made_.add(made);
      for (const MadeTensor& made : node.others) made_.add(made);
      for (const MadeTensor& made : node.state) made_.add(made);
    }
  }

  const dump::Runs& runs() const { return wiring_.runs(); }
  std::span<ResultNode> nodes() { return nodes_; }
  const MadeByRun& made() const { return made_; }

  void find_known(ProgramResults& other, bool is_golden, unsigned threads) {
    parallel_for(nodes_.size(), threads, [&](std::size_t i) {
      ResultNode& node = nodes_[i];
      node.is_known = !node.results.empty() && std::ranges::all_of(node.results, [&](const MadeTensor& made) {
        const PrintTolerance& tolerance = tolerance_of(static_cast<std::uint32_t>(i));
        return std::ranges::any_of(other.made_.find(made.print, tolerance), [&](const MadeTensor* same) {
          return made.shape != same->shape ||
                 (is_golden ? have_equal_elements(runs(), made, other.runs(), *same, tolerance)
                            : have_equal_elements(other.runs(), *same, runs(), made, tolerance));
        });
      });
      node.has_lost_state = std::ranges::any_of(
          node.state, [&](const MadeTensor& made) { return other.made_.find(made.print, kLater).empty(); });
    });
  }

  void find_lost() {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      node->is_for_update = !node->begins_backward && !node->readers.empty() &&
                            std::ranges::all_of(node->readers, [&](const ResultReader& reader) {
                              const ResultNode& next = nodes_[reader.execution];
                              return next.part == StepPart::update || next.is_for_update ||
                                     (reader.share > 0 && reader.share < 1);
                            });
      node->feeds_step = std::ranges::any_of(node->readers, [&](const ResultReader& reader) {
        const ResultNode& next = nodes_[reader.execution];
        return reader.share == 1 && next.part == StepPart::forward && !next.is_for_update &&
               step_of(reader.execution) == step_of(static_cast<std::uint32_t>(&*node - nodes_.data()));
      });
      const double least = node->part != StepPart::forward || node->is_for_update ? kSeen : kSeenForward;
      node->leads_to_known = std::ranges::any_of(node->readers, [&](const ResultReader& reader) {
        const ResultNode& next = nodes_[reader.execution];
        const bool is_aside = next.is_for_update && !node->is_for_update && node->part == StepPart::forward;
        return (reader.share >= least || (reader.share > 0 && next.feeds_step)) && !is_aside &&
               (next.leads_to_known || (next.is_known && next.is_telling));
      });
    }
    for (ResultNode& node : nodes_) {
      node.is_lost = !node.is_constant && !node.is_known && !node.leads_to_known &&
                     ((!node.results.empty() && !node.only_moves) || node.reads_lost);
      if (!node.is_lost) continue;
      for (const ResultReader& reader : node.readers) nodes_[reader.execution].reads_lost = true;
    }
    excuse_last_updates();
    for (ResultNode& node : nodes_) node.is_lost |= node.has_lost_state;
  }

  const PrintTolerance& tolerance_of(std::uint32_t execution) const {
    const ResultNode& node = nodes_[execution];
    return node.part == StepPart::forward && !node.follows_update ? kFirstForward : kLater;
  }

  StepPart part_of(std::uint32_t execution) const {
    const ResultNode& node = nodes_[execution];
    const bool updates = node.is_for_update || node.has_lost_state;
    return node.part == StepPart::forward && updates ? StepPart::update : node.part;
  }

  // "3 results of actual, the first of `add_` at train.py:31, are not in the other run, ..."; empty if all
  // are.
  std::string describe_lost(std::string_view side) const {
    const std::uint64_t lost = count_lost();
    if (lost == 0) return {};
    const auto first = std::ranges::find_if(nodes_, is_lost_result) - nodes_.begin();
    const dump::OperatorRun run = runs().without_slots(static_cast<std::size_t>(first));
    const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
    return counted(lost, "result") + " of " + std::string(side) + ", the first of " +
           one_line(operator_name(run)) + (source.empty() ? "" : " at " + source) + ", " +
           inflect(lost, "is", "are") + " not in the other run, and neither is what is made of " +
           inflect(lost, "it", "them");
  }

  // The lines from which what is lost spreads, in order.
  std::vector<PartingPoint> find_points() const {
    struct Executions {
      std::vector<std::uint32_t> first_lost = {};
      std::uint64_t lost = 0, all = 0;
    };
    std::map<ProgramLine, Executions> lines;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].results.empty()) continue;
      Executions& line = lines[line_of(i)];
      ++line.all;
      line.lost += nodes_[i].is_lost;
      if (nodes_[i].is_lost && !nodes_[i].reads_lost) line.first_lost.push_back(i);
    }
    constexpr std::uint64_t kFewOf = 4;  // one in so many: what is lost is that of few parameters
    std::vector<PartingPoint> points;
    for (const auto& [line, executions] : lines) {
      if (executions.first_lost.empty()) continue;
      points.push_back(follow(executions.first_lost));
      points.back().is_most_of_line = kFewOf * executions.lost >= executions.all;
    }
    // What is lost of gradients and updates may be rounding, unless a forward pass behind it shows it.
    std::optional<std::uint32_t> last;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      const ResultNode& node = nodes_[i];
      const bool is_evaluation = node.part == StepPart::forward && node.is_layer && !has_loss(i);
      if (node.has_lost_state || (node.is_lost && (node.begins_backward || is_evaluation))) last = i;
    }
    for (const PartingPoint& point : points)
      if (is_of_forward_pass(point)) last = std::max(last.value_or(0), point.first);
    std::erase_if(points, [&](const PartingPoint& point) {
      return !last || point.first > *last ||
             (part_of(point.first) == StepPart::forward ? !is_of_forward_pass(point)
                                                        : !point.is_most_of_line);
    });
    // Of those of one forward pass those with most behind them: others bring data to what is lost already.
    constexpr std::uint64_t kMuchMore = 2;
    const auto is_less = [&](const PartingPoint& point) {
      return part_of(point.first) == StepPart::forward &&
             std::ranges::any_of(points, [&](const PartingPoint& other) {
               return part_of(other.first) == StepPart::forward &&
                      step_of(other.first) == step_of(point.first) &&
                      other.reaches_loss == point.reaches_loss && other.in_pass > kMuchMore * point.in_pass;
             });
    };
    std::vector<PartingPoint> most;
    std::ranges::remove_copy_if(points, std::back_inserter(most), is_less);
    std::ranges::sort(most, {}, &PartingPoint::first);
    return most;
  }

 private:
  static bool is_lost_result(const ResultNode& node) { return node.is_lost && !node.results.empty(); }
  std::uint64_t count_lost() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(nodes_, is_lost_result));
  }

  std::int64_t step_of(std::uint32_t execution) const { return runs().section_of(execution).step; }

  ProgramLine line_of(std::uint32_t execution) const {
    const dump::OperatorRun run = runs().without_slots(execution);
    const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
    return {source.empty() ? operator_name(run) : source, run.type, step_of(execution), phase_of(run)};
  }

  std::vector<std::uint32_t> writers(std::uint32_t execution, std::uint32_t input) const {
    std::vector<std::uint32_t> found = wiring_.writers(execution, input).executions;
    std::erase_if(found, [&](std::uint32_t writer) { return writer >= execution; });
    return found;
  }

  // Whether another execution is known to have made an input as it is.
  bool is_made_here(std::uint32_t execution, std::uint32_t input) const {
    const auto maker = wiring_.recorded(execution, input).maker;
    return maker && !wiring_.is_view(maker->execution);
  }

  // The first output is the result of an operator; those of an optimizer's lists all are. Whole numbers, as
  // counts of steps, say nothing.
  void read(std::uint32_t execution) {
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
      node.is_telling |=
          !is_other && model::is_floating(slot.dtype) && (is_number || print->is_distinctive());
    }
  }

  void find_readers(std::uint32_t execution) {
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
      for (const std::uint32_t writer : made_by) {
        node.follows_update |= nodes_[writer].follows_update || nodes_[writer].part == StepPart::update;
        // A gradient need not depend on what its operator reads of the forward pass.
        const bool is_behind = nodes_[writer].part == StepPart::forward && node.part == StepPart::backward;
        const bool is_changed = slot.index == 0 && run.type.ends_with('_');
        nodes_[writer].readers.push_back({execution, is_changed ? 1 : is_behind ? 0 : change});
      }
    }
  }

  StepPart find_part(std::uint32_t execution, const dump::OperatorRun& run) const {
    switch (phase_of(run)) {
      case model::Phase::backward:
        return StepPart::backward;
      case model::Phase::optimizer:
        return StepPart::update;
      case model::Phase::forward:
        break;
    }
    for (const dump::Slot& slot : runs().slots(execution))
      if (slot.side == model::Side::input)
        for (const std::uint32_t writer : writers(execution, slot.index))
          if (nodes_[writer].part != StepPart::forward && step_of(writer) == run.step)
            return StepPart::update;
    return StepPart::forward;
  }

  // Whether an operator changes in place what was there before its step.
  bool updates_state(std::uint32_t execution) {
    const dump::OperatorRun run = runs().without_slots(execution);
    if (phase_of(run) == model::Phase::optimizer) return true;
    if (!run.type.ends_with('_') || model::has_trait(run.type, model::Trait::overwrites)) return false;
    const bool is_old = std::ranges::all_of(writers(execution, 0), [&](std::uint32_t writer) {
      return step_of(writer) != run.step || state_.contains(writer);
    });
    if (is_old) state_.insert(execution);
    return is_old;
  }

  // How much an operator changes in place, as a distance of prints: the least of its tensors.
  double change_of(std::uint32_t execution) const {
    std::vector<TensorPrint> before;
    for (const dump::Slot& slot : runs().slots(execution))
      if (slot.side == model::Side::input && slot.index < nodes_[execution].results.size())
        if (const auto print = print_of(slot)) before.push_back(*print);
    double least = 1;
    for (const MadeTensor& made : nodes_[execution].results)
      for (const TensorPrint& old : before) least = std::min(least, distance(made.print, old));
    return least;
  }

  // As the first update of an optimizer that divides gradients by their size gives to biases.
  bool has_few_values(std::uint32_t execution) const {
    constexpr std::size_t kFew = 8;
    for (const dump::Slot& slot : runs().slots(execution)) {
      if (slot.side != model::Side::output) continue;
      const std::vector<std::uint64_t> elements = elements_of(slot);
      if (std::set<std::uint64_t>(elements.begin(), elements.end()).size() > kFew) return false;
    }
    return true;
  }

  // Nothing shows the updates after which the program ends. An optimizer may make much of gradients that are
  // nothing but rounding: of few parameters, whose updates the next step has shown before.
  void excuse_last_updates() {
    std::map<std::tuple<std::string, StepPart, std::int64_t>, std::vector<std::uint32_t>> kinds;
    std::set<std::uint32_t> shown;  // operators, by their number
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].results.empty()) continue;
      if (part_of(i) != StepPart::forward)
        kinds[{runs().without_slots(i).type, part_of(i), step_of(i)}].push_back(i);
      if (!nodes_[i].is_lost) shown.insert(runs().operator_number(i));
    }
    for (const auto& [kind, executions] : kinds) {
      const auto is_lost = [&](std::uint32_t i) { return nodes_[i].is_lost; };
      const auto lost = static_cast<std::size_t>(std::ranges::count_if(executions, is_lost));
      if (2 * lost >= executions.size()) continue;
      for (const std::uint32_t i : executions)
        if (nodes_[i].is_lost && shown.contains(runs().operator_number(i))) nodes_[i].is_lost = false;
    }
  }

  // Whether gradients are computed behind an execution in its step.
  bool has_loss(std::uint32_t execution) const {
    const auto loss = losses_.find(step_of(execution));
    return loss != losses_.end() && execution <= loss->second;
  }

  // Whether a fault of the forward pass is there: what is lost reaches a loss of which gradients are
  // computed. In a step without one it is more than a number that a program prints.
  bool is_of_forward_pass(const PartingPoint& point) const {
    if (part_of(point.first) != StepPart::forward) return false;
    return point.reaches_loss || (point.has_tensors && !has_loss(point.first));
  }

  static bool has_elements(const ResultNode& node) {
    return std::ranges::any_of(node.results,
                               [](const MadeTensor& made) { return made.print.exact.count > 1; });
  }

  // Looks at what is lost with executions in their step.
  PartingPoint follow(const std::vector<std::uint32_t>& executions) const {
    PartingPoint point{.first = executions.front()};
    std::set<std::uint32_t> seen(executions.begin(), executions.end());
    for (std::vector<std::uint32_t> open = executions; !open.empty();) {
      const std::uint32_t execution = open.back();
      open.pop_back();
      const ResultNode& node = nodes_[execution];
      point.has_tensors |= node.is_layer || (node.is_telling && node.readers.empty() && has_elements(node));
      point.reaches_loss |= node.begins_backward;
      point.in_pass += node.part == StepPart::forward && !node.results.empty();
      for (const ResultReader& reader : node.readers)
        if (nodes_[reader.execution].is_lost && step_of(reader.execution) == step_of(point.first) &&
            seen.insert(reader.execution).second)
          open.push_back(reader.execution);
    }
    return point;
  }

  const Wiring& wiring_;
  std::vector<ResultNode> nodes_;  // by execution
  MadeByRun made_;
  // The last execution of each step of which gradients are computed.
  std::map<std::int64_t, std::uint32_t> losses_;
  std::set<std::uint32_t> state_;  // executions that change state in place
};

// Pairs what makes the same, each once, in order: in the same step if possible.
void join_results(ProgramResults& golden, ProgramResults& actual) {
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

void separate(ProgramResults& run, ProgramResults& other, std::uint32_t execution) {
  const std::uint32_t partner = std::exchange(run.nodes()[execution].partner, OperatorPair::kNone);
  if (partner != OperatorPair::kNone) other.nodes()[partner].partner = OperatorPair::kNone;
}

void append_single(Pairing& pairing, const ProgramResults& run, std::uint32_t execution, bool is_golden) {
  OperatorPair& pair = pairing.pairs.emplace_back();
  (is_golden ? pair.golden : pair.actual) = execution;
  const OperatorRole role = kind_of(run.runs().without_slots(execution).type).role;
  pair.fusion = role == OperatorRole::moves   ? Fusion::moves
                : role == OperatorRole::makes ? Fusion::makes
                                              : Fusion::inside;
}

// Where the two programs part: the first two lines of one part of a step, by where the later one of them is
// in its run; else the first line of each.
std::optional<std::pair<std::uint32_t, std::uint32_t>> find_parting(ProgramResults& golden,
                                                                    ProgramResults& actual) {
  const std::vector<PartingPoint> in_golden = golden.find_points(), in_actual = actual.find_points();
  if (in_golden.empty() || in_actual.empty()) return std::nullopt;
  const auto position = [](ProgramResults& run, const PartingPoint& point) {
    return static_cast<double>(point.first) / static_cast<double>(run.nodes().size());
  };
  std::pair best(in_golden.front().first, in_actual.front().first);
  double earliest = 2;
  for (const PartingPoint& g : in_golden)
    for (const PartingPoint& a : in_actual) {
      if (golden.part_of(g.first) != actual.part_of(a.first) || g.reaches_loss != a.reaches_loss) continue;
      const double at = std::max(position(golden, g), position(actual, a));
      if (at < earliest) earliest = at, best = {g.first, a.first};
    }
  return best;
}

}  // namespace

std::optional<Pairing> pair_results(const Wiring& golden, const Wiring& actual, unsigned threads) {
  if (!golden.is_recorded() || !actual.is_recorded() || golden.runs().size() == 0 ||
      actual.runs().size() == 0)
    return std::nullopt;
  ProgramResults of_golden(golden, threads), of_actual(actual, threads);
  of_golden.find_known(of_actual, true, threads);
  of_actual.find_known(of_golden, false, threads);
  for (ProgramResults* run : {&of_golden, &of_actual}) run->find_lost();
  const auto is_known = [](const ResultNode& node) { return node.is_known && node.is_telling; };
  if (std::ranges::none_of(of_golden.nodes(), is_known)) return std::nullopt;
  join_results(of_golden, of_actual);
  Pairing pairing;
  const auto parting = find_parting(of_golden, of_actual);
  if (parting) {
    separate(of_golden, of_actual, parting->first);
    separate(of_actual, of_golden, parting->second);
    of_golden.nodes()[parting->first].partner = parting->second;
    of_actual.nodes()[parting->second].partner = parting->first;
  } else {
    for (const auto& [run, side] : {std::pair(&of_golden, "golden"), std::pair(&of_actual, "actual")})
      if (std::string reason = run->describe_lost(side); !reason.empty())
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
  pairing.notes.push_back("names pair few operators of the two runs: " +
                          counted(by_results, "operator", "are") + " paired by what they make");
  return pairing;
}

}  // namespace opdump::compare
