#include "dump/write/ge_graph_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <system_error>
#include <utility>

#include "base/text/text.h"
#include "dump/write/tree_file.h"
#include "format/graphs/ge/ge_build.h"
#include "math/layout/strided_copy.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using GraphContent = GeGraphSettings::GraphContent;

GraphContent parse_content(std::string_view text) {
  const auto number = parse_int64(text);
  return number && *number >= 1 && *number <= 3 ? static_cast<GraphContent>(*number) : GraphContent::none;
}

void read_format(std::string_view text, GeGraphSettings& settings) {
  settings.proto = settings.onnx = false;
  for (const std::string_view word : split(text, '|')) {
    const std::string format = to_lower(trim(word));
    settings.proto = settings.proto || format == "ge_proto";
    settings.onnx = settings.onnx || format == "onnx";
    settings.readable = settings.readable || format == "readable";
    if (format != "ge_proto" && format != "onnx" && format != "readable")
      settings.warnings.push_back("DUMP_GRAPH_FORMAT: no graph is written as \"" + std::string(format) +
                                  "\"; known are ge_proto, onnx and readable");
  }
}

std::string pad(std::int64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  return digits.size() < width ? digits.insert(0, width - digits.size(), '0') : digits;
}

// The data of weights by name, up to the limit.
class WeightData {
 public:
  explicit WeightData(std::span<const GeWeight> weights) {
    for (const GeWeight& weight : weights) by_name_.emplace(weight.name, &weight.view);
  }

  std::string read(std::string_view name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || found->second->data == nullptr) return {};
    const std::uint64_t count = found->second->byte_count();
    if (count > left_) {
      left_out_.emplace_back(name);
      return {};
    }
    left_ -= count;
    std::string data(count, '\0');
    math::copy_row_major(*found->second, std::as_writable_bytes(std::span(data)));
    return data;
  }

  // Parameters get the types of their data: operators may have read views of them.
  model::Graph type_parameters(const model::Graph& graph) const {
    model::Graph typed = graph;
    for (model::GraphParameter& parameter : typed.parameters)
      if (const auto found = by_name_.find(parameter.name); found != by_name_.end())
        parameter.type = {found->second->dtype, found->second->shape};
    return typed;
  }

  std::vector<std::string> take_left_out() { return std::move(left_out_); }

 private:
  std::map<std::string_view, const model::TensorView*> by_name_;
  std::uint64_t left_ = GeGraphWriter::kMaxWeightBytes;
  std::vector<std::string> left_out_;
};

// A file that grows by small pieces; none if it was not created.
class TextFile {
 public:
  Result<> create(const OpenDirectory& directory, const std::string& name) {
    OPDUMP_TRY(fd_, create_replacing(directory, name));
    path_ = directory.path / name;
    return ok();
  }

  Result<> add(std::string_view text) {
    if (!fd_) return ok();
    buffer_ += text;
    return buffer_.size() < kBufferBytes ? ok() : flush();
  }

  Result<> flush() {
    if (!fd_) return ok();
    OPDUMP_CHECK_OK(write_all(fd_, std::as_bytes(std::span(buffer_)), path_));
    buffer_.clear();
    return ok();
  }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;
  Fd fd_;
  fs::path path_;
  std::string buffer_;
};

}  // namespace

bool GeGraphSettings::wants(std::string_view stage) const {
  if (level == "1" || level == "2") return true;
  if (level == "3") return stage == "Build";
  if (level == "4") return stage == "PreRunBegin";
  return std::ranges::any_of(split(level, '|'), [&](std::string_view part) {
    return !part.empty() && stage.find(part) != std::string_view::npos;
  });
}

GeGraphSettings read_ge_graph_settings(const Environment& environment, std::int64_t process,
                                       std::uint32_t device) {
  const auto read = [&](std::string_view name) { return environment(name).value_or(""); };
  GeGraphSettings settings;
  settings.content = parse_content(read("DUMP_GE_GRAPH"));
  if (settings.content == GraphContent::none) return settings;
  if (std::string level = read("DUMP_GRAPH_LEVEL"); !level.empty()) settings.level = std::move(level);
  if (const std::string format = read("DUMP_GRAPH_FORMAT"); !format.empty()) read_format(format, settings);
  settings.short_names = read("OPDUMP_GE_GRAPH_NAMES") == "short";
  const std::string pid = std::to_string(process), number = std::to_string(device);
  if (const std::string collect = read("NPU_COLLECT_PATH"); !collect.empty())
    settings.directory = fs::path(collect) / "extra-info" / "graph" / (pid + "_" + number);
  else if (const std::string path = read("DUMP_GRAPH_PATH"); !path.empty())
    settings.directory = fs::path(path) / ("pid_" + pid + "_deviceid_" + number);
  else if (const std::string work = read("ASCEND_WORK_PATH"); !work.empty())
    settings.directory = work;
  std::error_code failed;  // a program may change its directory later
  const fs::path here = fs::current_path(failed);
  settings.directory = here / settings.directory;
  return settings;
}

Result<std::vector<std::string>> GeGraphWriter::write(const model::Graph& graph, const std::string& name,
                                                      std::span<const GeWeight> weights) {
  OPDUMP_TRY(const OpenDirectory directory, open_root(settings_.directory));
  WeightData data(weights);
  const bool has_weights = settings_.content == GraphContent::with_weights;
  const model::Graph typed = has_weights ? data.type_parameters(graph) : model::Graph();
  for (const format::GeStage stage : {format::GeStage::pre_run_begin, format::GeStage::build}) {
    if (!settings_.wants(format::kGeStageNames[static_cast<std::size_t>(stage)])) continue;
    format::GeBuildOptions options{.stage = stage, .name = name, .read_data = {}};
    // Weights are in the graph that is executed only: once is enough of them.
    if (has_weights && stage == format::GeStage::build)
      options.read_data = [&](std::string_view weight) { return data.read(weight); };
    options.only_relations = settings_.content == GraphContent::relations;
    OPDUMP_CHECK_OK(write_stage(directory, has_weights ? typed : graph, options));
  }
  return data.take_left_out();
}

Result<> GeGraphWriter::write_stage(const OpenDirectory& directory, const model::Graph& graph,
                                    const format::GeBuildOptions& options) {
  const std::int64_t count = number_of(graph.id, options.stage);
  const std::string number =
      settings_.short_names ? pad(count, 5) : pad(count, 8) + "_graph_" + std::to_string(graph.id);
  const std::string name =
      number + "_" + std::string(format::kGeStageNames[static_cast<std::size_t>(options.stage)]);
  TextFile proto, onnx, readable;
  if (settings_.proto) OPDUMP_CHECK_OK(proto.create(directory, "ge_proto_" + name + ".txt"));
  if (settings_.onnx) OPDUMP_CHECK_OK(onnx.create(directory, "ge_onnx_" + name + ".pbtxt"));
  if (settings_.readable) OPDUMP_CHECK_OK(readable.create(directory, "ge_readable_" + name + ".txt"));
  const auto sink = [&](const format::GeTexts& texts) -> Result<> {
    OPDUMP_CHECK_OK(proto.add(texts.proto));
    OPDUMP_CHECK_OK(readable.add(texts.readable));
    return onnx.add(texts.onnx);
  };
  OPDUMP_CHECK_OK(format::encode_ge_graph(graph, options, sink));
  OPDUMP_CHECK_OK(proto.flush());
  OPDUMP_CHECK_OK(readable.flush());
  return onnx.flush();
}

std::int64_t GeGraphWriter::number_of(std::int64_t graph_id, format::GeStage stage) {
  return numbers_.try_emplace({graph_id, stage}, static_cast<std::int64_t>(numbers_.size())).first->second;
}

}  // namespace opdump::dump
