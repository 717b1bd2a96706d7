#include "result/exports.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "result/rows.h"

namespace opdump::result {
namespace {

using Json = nlohmann::ordered_json;

Result<bool> is_comparison(Database& database) {
  OPDUMP_TRY(const std::string actual, find_value(database, "actual"));
  return !actual.empty();
}

// The numbers that JSON has; other viewers know no infinity.
double finite(double value) {
  return std::isnan(value)   ? 0
         : std::isinf(value) ? std::copysign(std::numeric_limits<float>::max(), value)
                             : value;
}

// The counter of a trace: powers of ten, because one large error would hide all others. Not equal at all is
// at the top, equal at the bottom.
double on_scale(double error) {
  constexpr double kLow = -6, kHigh = 12;
  return error > 0 ? std::clamp(std::log10(error), kLow, kHigh) : kLow;
}

std::string graph_name(std::int64_t rank, std::int64_t graph) {
  return "rank " + std::to_string(rank) + " graph " + std::to_string(graph);
}

// Weights, inputs and constants are nodes beside the operators.
std::string node_id(const std::string& kind, const std::string& name) {
  return kind == "operator" ? name : kind + " " + name;
}

std::string module_of(const std::string& name) {
  const std::size_t at = name.rfind('/');
  return at == std::string::npos ? "" : name.substr(0, at);
}

Json make_node(const std::string& id, const std::string& name) {
  return {{"id", id},
          {"label", name.substr(name.rfind('/') + 1)},
          {"namespace", module_of(name)},
          {"incomingEdges", Json::array()},
          {"attrs", Json::array()}};
}

}  // namespace

Result<> export_trace(Database& database, const WriteExport& write) {
  OPDUMP_TRY(const bool compares, is_comparison(database));
  OPDUMP_CHECK_OK(write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"));
  std::map<std::int64_t, std::int64_t> time;    // of each rank
  std::map<std::string, std::int64_t> threads;  // by phase
  std::set<std::pair<std::int64_t, std::int64_t>> named;
  bool is_first = true;
  const auto emit = [&](const Json& event) -> Result<> {
    const std::string text = (is_first ? "" : ",\n") + json_text(event);
    is_first = false;
    return write(text);
  };
  const auto visit = [&](const Statement& row) -> Result<> {
    const std::int64_t rank = row.integer(1), step = row.integer(2);
    const std::string phase = row.text(3).empty() ? "operators" : row.text(3);
    const std::int64_t thread =
        threads.try_emplace(phase, static_cast<std::int64_t>(threads.size()) + 1).first->second;
    if (time.find(rank) == time.end())
      OPDUMP_CHECK_OK(emit({{"name", "process_name"},
                            {"ph", "M"},
                            {"pid", rank},
                            {"args", {{"name", "rank " + std::to_string(rank)}}}}));
    if (named.emplace(rank, thread).second)
      OPDUMP_CHECK_OK(emit({{"name", "thread_name"},
                            {"ph", "M"},
                            {"pid", rank},
                            {"tid", thread},
                            {"args", {{"name", phase}}}}));
    const std::int64_t now = time[rank]++;
    Json event = {
        {"name", row.text(5)}, {"cat", row.text(4)},      {"ph", "X"}, {"ts", now}, {"dur", 1}, {"pid", rank},
        {"tid", thread},       {"args", {{"step", step}}}};
    if (!row.text(6).empty()) event["args"]["verdict"] = row.text(6);
    if (!row.text(7).empty()) event["args"]["source"] = row.text(7) + ":" + std::to_string(row.integer(8));
    if (compares && !std::holds_alternative<std::monostate>(row.value(9)))
      event["args"]["error / tolerance"] = finite(row.real(9));
    OPDUMP_CHECK_OK(emit(event));
    if (!compares || std::holds_alternative<std::monostate>(row.value(9))) return ok();
    return emit({{"name", "log10(error / tolerance)"},
                 {"ph", "C"},
                 {"ts", now},
                 {"pid", rank},
                 {"args", {{"error", on_scale(row.real(9))}}}});
  };
  OPDUMP_CHECK_OK(each_row(database,
                           "SELECT id, rank, step, phase, type, name, verdict, source_file, source_line, "
                           "coalesce(output_error, input_error) FROM operators ORDER BY id",
                           {}, visit));
  return write("\n]}\n");
}

Result<> export_graph(Database& database, std::string_view side, const WriteExport& write) {
  struct Graph {
    std::map<std::string, Json> nodes;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Graph> graphs;
  const auto visit = [&](const Statement& row) -> Result<> {
    auto& nodes = graphs[{row.integer(0), row.integer(1)}].nodes;
    const std::string producer = node_id(row.text(3), row.text(2)), consumer = row.text(5);
    for (const auto& [id, name] : {std::pair(producer, row.text(2)), std::pair(consumer, consumer)}) {
      const auto [node, is_new] = nodes.try_emplace(id);
      if (!is_new) continue;
      node->second = make_node(id, name);
      // Beside who reads it first: all of them outside of modules would be one line of a thousand boxes.
      if (id == producer && row.text(3) != "operator") node->second["namespace"] = module_of(consumer);
    }
    nodes.at(consumer)["incomingEdges"].push_back({{"sourceNodeId", producer},
                                                   {"sourceNodeOutputId", std::to_string(row.integer(4))},
                                                   {"targetNodeInputId", std::to_string(row.integer(6))}});
    return ok();
  };
  OPDUMP_CHECK_OK(each_row(database,
                           "SELECT rank, graph, producer, producer_kind, output, consumer, input FROM edges "
                           "WHERE side = ? ORDER BY rank, graph, consumer, input",
                           {side}, visit));
  if (graphs.empty()) return Error(Code::not_found, "the result has no graphs of " + std::string(side));
  const auto describe = [&](const Statement& row) -> Result<> {
    for (auto& [key, graph] : graphs) {
      const auto node = graph.nodes.find(row.text(1));
      if (key.first != row.integer(0) || node == graph.nodes.end() || !node->second["attrs"].empty())
        continue;
      node->second["attrs"].push_back({{"key", "type"}, {"value", row.text(2)}});
      node->second["attrs"].push_back({{"key", "source"}, {"value", row.text(3)}});
    }
    return ok();
  };
  OPDUMP_CHECK_OK(each_row(
      database,
      side == "actual" ? "SELECT rank, coalesce(actual_name, name), type, coalesce(source_file || ':' || "
                         "source_line, '') FROM operators GROUP BY 1, 2"
                       : "SELECT rank, name, type, coalesce(source_file || ':' || source_line, '') "
                         "FROM operators GROUP BY 1, 2",
      {}, describe));
  Json list = Json::array();
  for (auto& [key, graph] : graphs) {
    Json nodes = Json::array();
    for (auto& [id, node] : graph.nodes) nodes.push_back(std::move(node));
    list.push_back({{"id", graph_name(key.first, key.second)}, {"nodes", std::move(nodes)}});
  }
  const Json document = {{"label", "opdump " + std::string(side)}, {"graphs", std::move(list)}};
  return write(json_text(document) + "\n");
}

Result<> export_node_data(Database& database, std::string_view side, const WriteExport& write) {
  OPDUMP_TRY(const bool compares, is_comparison(database));
  std::map<std::pair<std::int64_t, std::string>, double> worst;
  const auto measure = [&](const Statement& row) -> Result<> {
    if (!std::holds_alternative<std::monostate>(row.value(2)))
      worst[{row.integer(0), row.text(1)}] = finite(row.real(2));
    return ok();
  };
  const std::string name = side == "actual" ? "coalesce(o.actual_name, o.name)" : "o.name";
  OPDUMP_CHECK_OK(
      each_row(database,
               compares ? "SELECT o.rank, " + name +
                              ", max(coalesce(o.output_error, o.input_error)) FROM operators o GROUP BY 1, 2"
                        : "SELECT o.rank, " + name +
                              ", max(t.l2) FROM operators o JOIN slots s ON s.operator = o.id AND s.side = "
                              "'output' JOIN statistics t "
                              "ON t.slot = s.id GROUP BY 1, 2",
               {}, measure));
  Json data = Json::object();
  const auto visit = [&](const Statement& row) -> Result<> {
    const auto found = worst.find({row.integer(0), row.text(2)});
    if (found == worst.end()) return ok();
    data[graph_name(row.integer(0), row.integer(1))]["results"][row.text(2)] = {{"value", found->second}};
    return ok();
  };
  OPDUMP_CHECK_OK(
      each_row(database, "SELECT DISTINCT rank, graph, consumer FROM edges WHERE side = ?", {side}, visit));
  if (data.empty()) return Error(Code::not_found, "the result has no graphs of " + std::string(side));
  for (auto& [graph, of] : data.items()) {
    if (compares)
      of["thresholds"] = {{{"value", 1}, {"bgColor", "#d8f0e2"}},
                          {{"value", 100}, {"bgColor", "#f6c56b"}},
                          {{"value", std::numeric_limits<float>::max()}, {"bgColor", "#d9534f"}}};
    else
      of["gradient"] = {{{"stop", 0}, {"bgColor", "#f1f2f0"}}, {{"stop", 1}, {"bgColor", "#c83246"}}};
  }
  return write(json_text(data) + "\n");
}

}  // namespace opdump::result
