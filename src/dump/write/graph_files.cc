#include "dump/write/graph_files.h"

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file/file.h"
#include "base/text/text.h"
#include "dump/write/tree_file.h"
#include "format/graphs/execution_order.h"
#include "format/graphs/graph_ir.h"
#include "format/graphs/graph_pb.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGraphPrefix = "ms_output_trace_code_graph_";
constexpr std::string_view kOrderPrefix = "ms_execution_order_graph_";
constexpr std::string_view kHistoryPrefix = "ms_global_execution_order_graph_";
constexpr std::uint64_t kMaxSourceBytes = 16 << 20;  // of one file of the program
constexpr std::uint64_t kMaxOrderBytes = 1 << 30;

// The program's text, each file read once. What is no ordinary file is left alone: reading it could wait.
class SourceText {
 public:
  std::optional<std::string> line(const std::string& file, int number) {
    const auto [found, is_new] = files_.try_emplace(file);
    File& known = found->second;
    if (is_new) known.load(file);
    const auto index = static_cast<std::size_t>(number) - 1;
    if (number < 1 || index >= known.starts.size()) return std::nullopt;
    const std::size_t start = known.starts[index];
    return known.text.substr(start, known.text.find('\n', start) - start);
  }

 private:
  struct File {
    std::string text;
    std::vector<std::size_t> starts;  // of lines

    void load(const std::string& file) {
      std::error_code failed;
      if (!fs::is_regular_file(file, failed)) return;
      auto content = read_file(file, kMaxSourceBytes);
      if (!content) return;
      text = std::move(*content);
      starts.push_back(0);
      for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') starts.push_back(i + 1);
    }
  };
  std::map<std::string, File> files_;
};

std::string file_name(std::string_view prefix, std::int64_t id, std::string_view extension) {
  return std::string(prefix) + std::to_string(id) + std::string(extension);
}

Result<> write_replacing(const OpenDirectory& directory, const std::string& name, std::string_view text) {
  OPDUMP_TRY(const Fd fd, create_replacing(directory, name));
  return write_all(fd, std::as_bytes(std::span(text)), directory.path / name);
}

// The id in "ms_output_trace_code_graph_3.ir", or nothing.
std::optional<std::int64_t> find_graph_id(const std::string& name) {
  const bool fits = name.starts_with(kGraphPrefix) && (name.ends_with(".ir") || name.ends_with(".pb"));
  if (!fits) return std::nullopt;
  return parse_int64(
      std::string_view(name).substr(kGraphPrefix.size(), name.size() - kGraphPrefix.size() - 3));
}

Result<std::map<std::int64_t, fs::path>> list_graphs(const fs::path& directory) {
  std::map<std::int64_t, fs::path> paths;  // without extension
  std::error_code failed;
  if (!fs::exists(directory, failed)) return paths;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (const auto id = find_graph_id(name)) paths[*id] = directory / name.substr(0, name.size() - 3);
  }
  if (failed) return Error(Code::io, directory.string() + ": " + failed.message());
  return paths;
}

// Prefers the .ir, which says more.
void read_either(const fs::path& stem, RankGraphs& result, GraphFile& file) {
  for (const char* extension : {".ir", ".pb"}) {
    const fs::path path = stem.string() + extension;
    auto graphs = read_graph_file(path);
    if (graphs) {
      file.path = path;
      file.graphs = std::move(*graphs);
      return;
    }
    if (graphs.error().code() != Code::not_found) result.problems.push_back({path, graphs.error().message()});
  }
}

void read_orders(const fs::path& directory, RankGraphs& result, GraphFile& file) {
  const fs::path order_path = directory / file_name(kOrderPrefix, file.id, ".csv");
  if (const auto text = read_file(order_path, kMaxOrderBytes)) {
    auto order = format::decode_execution_order(*text);
    if (order)
      file.order = std::move(*order);
    else
      result.problems.push_back({order_path, order.error().message()});
  } else if (text.error().code() != Code::not_found) {
    result.problems.push_back({order_path, text.error().message()});
  }
  const fs::path history_path = directory / file_name(kHistoryPrefix, file.id, ".csv");
  if (const auto text = read_file(history_path, kMaxOrderBytes)) {
    format::GlobalOrder history = format::decode_global_order(*text);
    file.history = std::move(history.steps);
    if (history.damaged_lines > 0)
      result.problems.push_back(
          {history_path, std::to_string(history.damaged_lines) + " lines are no steps"});
  }
}

}  // namespace

Result<> write_graph(const fs::path& rank_directory, const model::Graph& graph) {
  SourceText source;
  const format::LineReader read_line = [&](const std::string& file, int line) {
    return source.line(file, line);
  };
  OPDUMP_TRY(const OpenDirectory graphs, open_directory(rank_directory / "graphs"));
  OPDUMP_CHECK_OK(write_replacing(graphs, file_name(kGraphPrefix, graph.id, ".ir"),
                                  format::encode_graph_ir(graph, read_line)));
  OPDUMP_CHECK_OK(write_replacing(graphs, file_name(kGraphPrefix, graph.id, ".pb"),
                                  format::encode_graph_pb(graph, read_line)));
  OPDUMP_TRY(const OpenDirectory orders, open_directory(rank_directory / "execution_order"));
  return write_replacing(orders, file_name(kOrderPrefix, graph.id, ".csv"),
                         format::encode_execution_order(graph));
}

Result<> append_global_order(const fs::path& rank_directory, std::int64_t graph_id, std::int64_t step) {
  OPDUMP_TRY(const OpenDirectory orders, open_directory(rank_directory / "execution_order"));
  const fs::path path = orders.path / file_name(kHistoryPrefix, graph_id, ".csv");
  OPDUMP_TRY(const Fd fd, open_append(path, ""));
  const std::string line = std::to_string(step) + "\n";
  return write_all(fd, std::as_bytes(std::span(line)), path);
}

Result<RankGraphs> read_graphs(const fs::path& rank_directory) {
  RankGraphs result;
  OPDUMP_TRY(const auto stems, list_graphs(rank_directory / "graphs"));
  for (const auto& [id, stem] : stems) {
    GraphFile file;
    file.id = id;
    read_either(stem, result, file);
    read_orders(rank_directory / "execution_order", result, file);
    if (!file.graphs.empty()) result.files.push_back(std::move(file));
  }
  return result;
}

Result<std::vector<model::Graph>> read_graph_file(const fs::path& path) {
  OPDUMP_TRY(const std::string bytes, read_file(path, format::kMaxGraphIrBytes));
  if (std::string_view(bytes).substr(0, 4096).find("# IR entry:") != std::string_view::npos ||
      path.extension() == ".ir")
    return format::decode_graph_ir(bytes);
  OPDUMP_TRY(model::Graph graph, format::decode_graph_pb(bytes));
  std::vector<model::Graph> graphs;
  graphs.push_back(std::move(graph));
  return graphs;
}

}  // namespace opdump::dump
