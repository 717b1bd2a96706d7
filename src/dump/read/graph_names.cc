#include "dump/read/graph_names.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "dump/file_name.h"
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

// The position of the number of "Default/Add-op12", or npos.
std::size_t find_number(std::string_view name) {
  const std::size_t at = name.rfind("-op");
  return at != std::string_view::npos && is_digits(name.substr(at + 3)) ? at + 3 : std::string_view::npos;
}

class NamesOfGraphs {
 public:
  explicit NamesOfGraphs(const RankGraphs& graphs) {
    for (const GraphFile& file : graphs.files)
      for (const model::Graph& graph : file.graphs)
        for (const model::Node& node : graph.nodes) {
          const std::string name = file_op_name(node.op);
          nodes_.try_emplace({file.id, name}, &node);
          add(only_, name, node);
          if (const std::size_t number = find_number(name); number != std::string::npos)
            add(without_number_, name.substr(0, number), node);
        }
  }

  // The node and the full name of an execution.
  std::optional<std::pair<const model::Node*, std::string>> find(std::int64_t graph_id,
                                                                 const std::string& name) const {
    if (const auto node = nodes_.find({graph_id, name}); node != nodes_.end())
      return std::pair(node->second, node->second->op.name);
    if (const model::Node* const only = find(only_, name)) return std::pair(only, only->op.name);
    // MindSpore numbers an operator that it selects a kernel for once more, after it named the files.
    const std::size_t number = find_number(name);
    if (number == std::string::npos) return std::nullopt;
    const model::Node* const other = find(without_number_, name.substr(0, number));
    if (other == nullptr) return std::nullopt;
    const std::string& full = other->op.name;
    return std::pair(other, full.substr(0, find_number(full)) + name.substr(number));
  }

 private:
  // Null: several nodes would be called the same.
  using Only = std::unordered_map<std::string, const model::Node*>;

  static void add(Only& only, const std::string& name, const model::Node& node) {
    const auto [known, is_new] = only.try_emplace(name, &node);
    if (!is_new && known->second && known->second->op.name != node.op.name) known->second = nullptr;
  }
  static const model::Node* find(const Only& only, const std::string& name) {
    const auto known = only.find(name);
    return known == only.end() ? nullptr : known->second;
  }

  std::map<std::pair<std::int64_t, std::string>, const model::Node*> nodes_;
  Only only_, without_number_;
};

}  // namespace

Result<> name_by_graphs(Runs& runs, std::uint32_t rank, const std::filesystem::path& rank_directory,
                        Problems& problems) {
  OPDUMP_TRY(RankGraphs graphs, read_graphs(rank_directory));
  for (Problem& problem : graphs.problems) problems.push_back(std::move(problem));
  if (graphs.files.empty()) return ok();
  const NamesOfGraphs names(graphs);
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
    }
    runs.set_operator(i, number);
  }
  return ok();
}

}  // namespace opdump::dump
