// The graph files of CANN's graph engine, as its environment variables ask for them (cann.md 6); page:
// docs/ge-graph.md.
//   ge_proto_{8 digits}_graph_{id}_{stage}.txt     a ge.proto.ModelDef as text
//   ge_onnx_{8 digits}_graph_{id}_{stage}.pbtxt    an onnx.ModelProto as text
//   ge_readable_{8 digits}_graph_{id}_{stage}.txt  for people, see format/graphs/ge/ge_readable.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dump/write/tree_file.h"
#include "format/graphs/ge/ge_build.h"
#include "model/graph.h"
#include "model/tensor_view.h"

namespace opdump::dump {

struct GeGraphSettings {
  enum class GraphContent : std::uint8_t { none = 0, with_weights = 1, without_weights = 2, relations = 3 };
  GraphContent content = GraphContent::none;  // DUMP_GE_GRAPH
  std::string level = "2";  // DUMP_GRAPH_LEVEL: 1 to 4, or parts of stages' names: "PreRun|Build"
  bool proto = true, onnx = true, readable = false;  // DUMP_GRAPH_FORMAT
  bool short_names = false;  // OPDUMP_GE_GRAPH_NAMES=short: ge_proto_{5 digits}_{stage}.txt, as old CANN
  std::filesystem::path
      directory;  // NPU_COLLECT_PATH, DUMP_GRAPH_PATH, ASCEND_WORK_PATH, else the current one
  std::vector<std::string> warnings;  // what was asked for and is not done

  bool wants(std::string_view stage) const;
};

// Reads the variables; `process` and `device` are part of the directory where CANN has them there.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
GeGraphSettings read_ge_graph_settings(const Environment& environment, std::int64_t process,
                                       std::uint32_t device);

// The data of a weight or constant of a graph.
struct GeWeight {
  std::string_view name;
  model::TensorView view;
};

// Numbers the files from 0; a graph that is written again keeps its numbers. Not thread-safe.
class GeGraphWriter {
 public:
  // Weights beyond this in one graph are left out of its files.
  static constexpr std::uint64_t kMaxWeightBytes = 256 << 20;

  explicit GeGraphWriter(GeGraphSettings settings) : settings_(std::move(settings)) {}
  const GeGraphSettings& settings() const { return settings_; }

  // Writes the files of a graph (0400, missing directories 0700) in place of older ones. `name` is the
  // directory {model_name} of its dump. Returns the names of the weights that were left out for their size.
  // Errors: io.
  Result<std::vector<std::string>> write(const model::Graph& graph, const std::string& name,
                                         std::span<const GeWeight> weights);

 private:
  Result<> write_stage(const OpenDirectory& directory, const model::Graph& graph,
                       const format::GeBuildOptions& options);
  std::int64_t number_of(std::int64_t graph_id, format::GeStage stage);

  GeGraphSettings settings_;
  std::map<std::pair<std::int64_t, format::GeStage>, std::int64_t> numbers_;
};

}  // namespace opdump::dump
