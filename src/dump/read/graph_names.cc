#include "dump/read/graph_names.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/text/text.h"
#include "dump/file_name.h"
#include "dump/operator_log.h"
#include "dump/read/graph_nodes.h"
#include "dump/write/graph_files.h"

namespace opdump::dump {
namespace {

model::Phase phase_of(std::string_view name) {
  if (name.starts_with(model::kGradients)) return model::Phase::backward;
  return name.starts_with("Default/optimizer-") || name.find("/optimizer-") != std::string_view::npos
             ? model::Phase::optimizer
             : model::Phase::forward;
}

// Calls innermost first, as a log has them. Spans of several lines are functions, which contain a call.
std::vector<model::Frame> stack_of(const model::Node& node) {
  std::vector<model::Frame> stack;
  for (auto span = node.source.rbegin(); span != node.source.rend(); ++span)
    if (span->first_line == span->last_line) stack.push_back({span->file, span->first_line, {}});
  return stack;
}

// Operators of one kind: all but the number of their names.
struct GraphKind {
  std::int64_t graph_id = 0;
  std::string name;  // as in file names, up to the number
  auto operator<=>(const GraphKind&) const = default;
};

// The numbers of the program that the graph has beside the tensors, such as the epsilon of a norm: newer
// graphs do not name them. What it computes with them is MindSpore's, so no function is named.
CallForm form_of(const model::Node& node) {
  std::vector<model::Argument> literals;
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    model::Argument argument = node.arguments[i];
    if (std::holds_alternative<model::Argument::Tensor>(argument.value)) continue;
    if (argument.name.empty()) argument.name = "input." + std::to_string(i);
    literals.push_back(std::move(argument));
  }
  return {.arguments = literals.empty() ? "" : encode_call_arguments(literals)};
}

class NamesOfGraphs {
 public:
  explicit NamesOfGraphs(const RankGraphs& graphs) {
    for (const GraphFile& file : graphs.files) {
      std::unordered_map<std::string_view, std::uint32_t> places;
      for (const std::string& name : file.order)
        places.try_emplace(name, static_cast<std::uint32_t>(places.size()));
      for (const auto& [name, place] : places) ++orders_[file.id][kind_name(name)];
      for (const model::Graph& graph : file.graphs)
        for (const model::Node& node : graph.nodes) {
          const auto place = places.find(node.op.name);
          add(file.id, {&node, place == places.end() ? UINT32_MAX : place->second});
        }
    }
  }

  // Has to be called once for all executions of the rank, before any is asked for. Returns how many operators
  // of the graphs that ran have none, by kind_name().
  std::map<std::string, std::uint64_t> match(const Runs& runs, std::uint32_t rank) {
    std::map<std::int64_t, std::int64_t> first_steps;  // by graph: all of its operators ran in it
    for (std::uint32_t i = 0; i < runs.section_count(); ++i)
      if (const Runs::Section& section = runs.section(i); section.rank == rank) {
        const auto [known, is_new] = first_steps.try_emplace(section.graph_id, section.step);
        known->second = std::min(known->second, section.step);
      }
    std::map<GraphKind, std::map<std::string, std::uint32_t>> executions;  // the first one of each operator
    for (std::uint32_t i = 0; i < runs.size(); ++i) {
      const Runs::Section& section = runs.section_of(i);
      if (section.rank != rank || section.step != first_steps.at(section.graph_id)) continue;
      std::string name = runs.without_slots(i).name;
      const std::size_t number = find_operator_number(name);
      if (number == std::string::npos) continue;
      const auto [known, is_new] =
          executions[{section.graph_id, name.substr(0, number)}].try_emplace(std::move(name), i);
      if (!is_new && runs.time_of(i) < runs.time_of(known->second)) known->second = i;
    }
    std::map<std::int64_t, Counts> counts;  // of operators, by graph
    for (const auto& [kind, named] : executions) {
      counts[kind.graph_id][kind_name(kind.name)] += named.size();
      const auto nodes = kinds_.find(kind);
      if (nodes == kinds_.end()) continue;
      std::vector<std::uint32_t> ones;
      for (const auto& [name, i] : named) ones.push_back(i);
      for (const auto& [name, node] : match_nodes(runs, std::move(ones), nodes->second))
        matched_.try_emplace({kind.graph_id, name}, node);
    }
    Counts absent;
    for (const auto& [graph_id, there] : counts)
      if (const auto order = orders_.find(graph_id); order != orders_.end())
        add_absent(order->second, there, absent);
    return absent;
  }

  // The node and the full name of an execution.
  std::optional<std::pair<const model::Node*, std::string>> find(std::int64_t graph_id,
                                                                 const std::string& name) const {
    if (const auto node = matched_.find({graph_id, name}); node != matched_.end())
      return std::pair(node->second, numbered(*node->second, name));
    if (const auto node = nodes_.find({graph_id, name}); node != nodes_.end())
      return std::pair(node->second, node->second->op.name);
    if (const model::Node* const only = find(only_, name)) return std::pair(only, only->op.name);
    // Files of releases up to 2.2 are named by the last element.
    if (const model::Node* const only = find(last_elements_, name)) return std::pair(only, only->op.name);
    const std::size_t number = find_operator_number(name);
    if (number == std::string::npos) return std::nullopt;
    const model::Node* const other = find(without_number_, name.substr(0, number));
    if (other == nullptr) return std::nullopt;
    return std::pair(other, numbered(*other, name));
  }

 private:
  using Counts = std::map<std::string, std::uint64_t>;  // of operators, by kind_name()

  // As many operators as the graph executed are all of them, whatever they are called.
  static void add_absent(const Counts& order, const Counts& there, Counts& absent) {
    const auto sum = [](const Counts& counts) {
      return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                             [](std::uint64_t so_far, const auto& count) { return so_far + count.second; });
    };
    if (sum(there) >= sum(order)) return;
    for (const auto& [kind, count] : order) {
      const auto found = there.find(kind);
      const std::uint64_t has = found == there.end() ? 0 : found->second;
      if (has < count) absent[kind] += count - has;
    }
  }

  // A node is null if several nodes would be called the same.
  using Only = std::unordered_map<std::string, const model::Node*>;

  // The full name of the node with the number that the files have.
  static std::string numbered(const model::Node& node, const std::string& name) {
    const std::string& full = node.op.name;
    return full.substr(0, find_operator_number(full)) + name.substr(find_operator_number(name));
  }

  void add(std::int64_t graph_id, const OrderedNode& node) {
    const std::string name = file_op_name(node.node->op);
    const bool is_new = nodes_.try_emplace({graph_id, name}, node.node).second;
    add(only_, name, *node.node);
    const std::string& full = node.node->op.name;
    add(last_elements_, model::sanitise_name(full.substr(full.rfind('/') + 1)), *node.node);
    const std::size_t number = find_operator_number(name);
    if (number == std::string::npos) return;
    add(without_number_, name.substr(0, number), *node.node);
    if (is_new) kinds_[{graph_id, name.substr(0, number)}].push_back(node);
  }
  static void add(Only& only, const std::string& name, const model::Node& node) {
    const auto [known, is_new] = only.try_emplace(name, &node);
    if (!is_new && known->second && known->second->op.name != node.op.name) known->second = nullptr;
  }
  static const model::Node* find(const Only& only, const std::string& name) {
    const auto known = only.find(name);
    return known == only.end() ? nullptr : known->second;
  }

  std::map<std::pair<std::int64_t, std::string>, const model::Node*> nodes_, matched_;
  std::map<GraphKind, std::vector<OrderedNode>> kinds_;
  std::map<std::int64_t, Counts> orders_;  // what a graph executes, where a file says
  Only only_, last_elements_, without_number_;
};

}  // namespace

Result<std::map<std::string, std::uint64_t>> name_by_graphs(Runs& runs, std::uint32_t rank,
                                                            const std::filesystem::path& rank_directory,
                                                            Problems& problems) {
  OPDUMP_TRY(RankGraphs graphs, read_graphs(rank_directory));
  for (Problem& problem : graphs.problems) problems.push_back(std::move(problem));
  if (graphs.files.empty()) return std::map<std::string, std::uint64_t>();
  NamesOfGraphs names(graphs);
  auto absent = names.match(runs, rank);
  std::map<std::pair<std::int64_t, std::string>, std::uint32_t> numbers;  // by graph and name
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs.section_of(i).rank != rank) continue;
    const OperatorRun run = runs.without_slots(i);
    if (run.op != nullptr) continue;
    std::uint32_t& number = numbers[{run.graph_id, run.name}];
    if (number == 0) {
      const auto found = names.find(run.graph_id, run.name);
      if (!found) continue;
      LoggedOperator op(found->first->op, stack_of(*found->first));
      op.name = found->second;
      op.type = run.type;  // a graph may spell it "PrimFunc_ReLU"
      op.graph_id = run.graph_id;
      op.phase = phase_of(op.name);
      number = runs.add_operator(op);
      if (CallForm form = form_of(*found->first); !form.arguments.empty())
        runs.add_call(number, {.operator_name = {}, .step = 0, .form = std::move(form)});
    }
    runs.set_operator(i, number);
  }
  return absent;
}

}  // namespace opdump::dump
