#include "compare/pairs/results/parting.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compare/names.h"

namespace opdump::compare {
namespace {

// Where a program calls operators of one type in one step.
using ProgramLine = std::tuple<std::string, std::string, std::int64_t, model::Phase>;

// Executions of one line that lose something, and read nothing that is lost.
struct PartingPoint {
  std::uint32_t first = 0;
  std::uint64_t in_pass = 0;  // results of the forward pass of the step that are lost with theirs
  bool is_most_of_line = false;
  bool reaches_loss = false;  // of which gradients are computed
  bool reaches_evaluation = false;
  bool has_tensors = false;  // layers of a network are lost, or more than numbers that nothing reads
};

std::int64_t step_of(const ResultGraph& run, const PartingPoint& point) { return run.step_of(point.first); }

ProgramLine line_of(const ResultGraph& run, std::uint32_t execution) {
  const dump::OperatorRun of = run.runs().without_slots(execution);
  return {run.source_of(execution), of.type, run.step_of(execution), phase_of(of)};
}

// Looks at what is lost with executions in their step.
PartingPoint follow(const ResultGraph& run, const std::vector<std::uint32_t>& executions) {
  const auto nodes = run.nodes();
  PartingPoint point{.first = executions.front()};
  std::set<std::uint32_t> seen(executions.begin(), executions.end());
  for (std::vector<std::uint32_t> open = executions; !open.empty();) {
    const std::uint32_t execution = open.back();
    open.pop_back();
    const ResultNode& node = nodes[execution];
    const bool has_elements =
        std::ranges::any_of(node.results, [](const MadeTensor& made) { return made.print.exact.count > 1; });
    point.has_tensors |= node.is_layer || (node.is_telling && node.readers.empty() && has_elements);
    point.reaches_loss |= node.begins_backward;
    point.reaches_evaluation |= node.is_layer && !run.has_loss(execution);
    point.in_pass += node.part == StepPart::forward && !node.results.empty();
    for (const ResultReader& reader : node.readers)
      if (nodes[reader.execution].is_lost && run.step_of(reader.execution) == step_of(run, point) &&
          seen.insert(reader.execution).second)
        open.push_back(reader.execution);
  }
  return point;
}

// Whether a fault of the forward pass is there: what is lost reaches a loss of which gradients are computed.
// In a step without one it is more than a number that a program prints. An evaluation may show it, too.
// it.
bool is_of_forward_pass(const ResultGraph& run, const PartingPoint& point) {
  if (run.part_of(point.first) != StepPart::forward) return false;
  return point.reaches_loss || point.reaches_evaluation || (point.has_tensors && !run.has_loss(point.first));
}

// The lines that lose something and read nothing that is lost.
std::vector<PartingPoint> find_lines(const ResultGraph& run) {
  struct Executions {
    std::vector<std::uint32_t> first_lost = {};
    std::uint64_t lost = 0, all = 0;
  };
  constexpr std::uint64_t kFewOf = 16;  // one in so many: what is lost is that of few parameters
  std::map<ProgramLine, Executions> lines;
  for (std::uint32_t i = 0; i < run.nodes().size(); ++i) {
    const ResultNode& node = run.nodes()[i];
    if (node.results.empty()) continue;
    Executions& line = lines[line_of(run, i)];
    ++line.all;
    line.lost += node.is_lost;
    if (node.is_lost && !node.reads_lost) line.first_lost.push_back(i);
  }
  std::vector<PartingPoint> points;
  for (const auto& [line, executions] : lines) {
    if (executions.first_lost.empty()) continue;
    points.push_back(follow(run, executions.first_lost));
    points.back().is_most_of_line = kFewOf * executions.lost >= executions.all;
  }
  return points;
}

// The lines from which what is lost spreads, in order.
std::vector<PartingPoint> find_points(const ResultGraph& run) {
  std::vector<PartingPoint> points = find_lines(run);
  // What is lost of gradients and updates may be rounding, unless a forward pass behind it shows it.
  std::optional<std::uint32_t> last;
  for (std::uint32_t i = 0; i < run.nodes().size(); ++i) {
    const ResultNode& node = run.nodes()[i];
    const bool is_evaluation = node.part == StepPart::forward && node.is_layer && !run.has_loss(i);
    if (node.has_lost_state || (node.is_lost && (node.begins_backward || is_evaluation))) last = i;
  }
  for (const PartingPoint& point : points)
    if (is_of_forward_pass(run, point)) last = std::max(last.value_or(0), point.first);
  std::erase_if(points, [&](const PartingPoint& point) {
    return !last || point.first > *last ||
           (run.part_of(point.first) == StepPart::forward ? !is_of_forward_pass(run, point)
                                                          : !point.is_most_of_line);
  });
  // Of those of one forward pass those with most behind them: others bring data to what is lost already.
  constexpr std::uint64_t kMuchMore = 2;
  const auto is_less = [&](const PartingPoint& point) {
    return run.part_of(point.first) == StepPart::forward &&
           std::ranges::any_of(points, [&](const PartingPoint& other) {
             return run.part_of(other.first) == StepPart::forward &&
                    step_of(run, other) == step_of(run, point) && other.reaches_loss == point.reaches_loss &&
                    other.in_pass > kMuchMore * point.in_pass;
           });
  };
  std::vector<PartingPoint> most;
  std::ranges::remove_copy_if(points, std::back_inserter(most), is_less);
  std::ranges::sort(most, {}, &PartingPoint::first);
  return most;
}

std::uint64_t count_of(const ResultNode& node) {
  return node.results.empty() ? 0 : node.results.front().print.exact.count;
}

// Whether two results may be the same one, wrong in one of the runs.
bool are_alike(const ResultNode& golden, const ResultNode& actual) {
  constexpr double kAlike = 0.5;
  if (golden.results.empty() || actual.results.empty()) return false;
  return golden.is_truth == actual.is_truth &&
         distance(golden.results.front().print, actual.results.front().print) <= kAlike;
}

// Whether a program computes with 16 bits: its rounding is as large as many a fault.
bool is_coarse(const ResultGraph& run) {
  constexpr std::ptrdiff_t kPart = 10;
  return kPart * std::ranges::count(run.nodes(), true, &ResultNode::is_coarse) >=
         std::ranges::count(run.nodes(), true, &ResultNode::is_telling);
}

}  // namespace

std::optional<std::pair<std::uint32_t, std::uint32_t>> find_parting(const ResultGraph& golden,
                                                                    const ResultGraph& actual) {
  if (is_coarse(golden) || is_coarse(actual)) return std::nullopt;
  const std::vector<PartingPoint> in_golden = find_points(golden), in_actual = find_points(actual);
  if (in_golden.empty() || in_actual.empty()) return std::nullopt;
  const auto position = [](const ResultGraph& run, const PartingPoint& point) {
    return static_cast<double>(point.first) / static_cast<double>(run.nodes().size());
  };
  const auto place_of = [](const ResultGraph& run, std::uint32_t execution) {
    return std::pair(run.step_of(execution), run.part_of(execution));
  };
  struct Candidate {
    std::pair<std::uint32_t, std::uint32_t> executions;
    bool are_alike = false;
    bool are_of_two_kinds = false;  // one is true or false, as a mask
    double position = 0;
    std::pair<bool, double> rank() const { return {are_of_two_kinds, position}; }
  };
  std::vector<Candidate> candidates;
  for (const PartingPoint& g : in_golden)
    for (const PartingPoint& a : in_actual) {
      if (golden.part_of(g.first) != actual.part_of(a.first) || g.reaches_loss != a.reaches_loss) continue;
      candidates.push_back(
          {.executions = {g.first, a.first},
           .are_alike = are_alike(golden.nodes()[g.first], actual.nodes()[a.first]),
           .are_of_two_kinds = golden.nodes()[g.first].is_truth != actual.nodes()[a.first].is_truth,
           .position = std::max(position(golden, g), position(actual, a))});
    }
  if (candidates.empty()) return std::pair(in_golden.front().first, in_actual.front().first);
  // Where the first two have other elements, one of them may be of what one program alone computes.
  const Candidate first = std::ranges::min(candidates, {}, &Candidate::rank);
  if (count_of(golden.nodes()[first.executions.first]) == count_of(actual.nodes()[first.executions.second]))
    return first.executions;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return !candidate.are_alike ||
           place_of(golden, candidate.executions.first) != place_of(golden, first.executions.first) ||
           place_of(actual, candidate.executions.second) != place_of(actual, first.executions.second);
  });
  return candidates.empty() ? first.executions
                            : std::ranges::min(candidates, {}, &Candidate::rank).executions;
}

}  // namespace opdump::compare
