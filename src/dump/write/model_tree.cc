#include "dump/write/model_tree.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json.h"
#include "dump/file_name.h"
#include "dump/write/call_data.h"
#include "dump/write/npy_file.h"
#include "dump/write/statistic_tables.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/op_debug.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

CallName call_name(const SlotAddress& address) {
  return {plain_name(address.op->type), plain_name(address.op->name), address.op->task, address.op->stream,
          address.timestamp_us};
}

std::string tensor_name(const SlotAddress& address, model::DType dtype, const model::Shape& shape) {
  CallName name = call_name(address);
  return format_file_name({.type = std::move(name.type),
                           .name = std::move(name.name),
                           .task = name.task,
                           .stream = name.stream,
                           .timestamp_us = name.timestamp_us,
                           .side = address.side,
                           .index = address.index,
                           .format = std::string(format_of(address, shape)),
                           .dtype = std::string(model::dtype_info(dtype).name)});
}

// The text of acl_dump_{device}.json for a step.
std::string encode_acl_json(const ModelTreeOptions& options, std::int64_t step, bool selected,
                            std::span<const std::string> operators) {
  json dump = json::object();
  if (options.scene == ModelTreeOptions::Scene::exception) {
    dump["dump_scene"] = "lite_exception";
    return json_text(json{{"dump", std::move(dump)}});
  }
  if (options.scene == ModelTreeOptions::Scene::overflow) {
    dump["dump_debug"] = "on";
  } else {
    json list = json::array();
    if (!operators.empty()) list.push_back({{"layer", operators}});
    dump["dump_list"] = std::move(list);
    dump["dump_mode"] = options.dump_mode;
    dump["dump_op_switch"] = "on";
  }
  dump["dump_path"] = (selected ? options.root / std::to_string(step) : options.root).string();
  if (!selected) dump["dump_step"] = "2147483647";  // a step that never comes
  return json_text(json{{"dump", std::move(dump)}});
}

class ModelTree final : public SchemeWriter {
 public:
  ModelTree(ModelTreeOptions options, std::unique_ptr<StepDirectories> directories, StatisticTables tables)
      : options_(std::move(options)), directories_(std::move(directories)), tables_(std::move(tables)) {}

  Result<> begin_step(std::int64_t step, bool selected, std::span<const std::string> operators) override {
    if (!options_.step_first) return ok();  // the graph engine learns of it by other means
    return replace_file(directories_->root(), "acl_dump_" + std::to_string(options_.device) + ".json",
                        encode_acl_json(options_, step, selected, operators));
  }

  Result<fs::path> write_tensor(const SlotAddress& address, const model::TensorView& view) override {
    OPDUMP_TRY(const std::string header, npy_header_for(view));
    return directories_->create(
        address, tensor_name(address, view.dtype, view.shape),
        [&](const Fd& fd, const fs::path& path) { return write_npy(fd, header, view, path); });
  }

  Result<> link_tensor(const SlotAddress& address, model::DType dtype, const model::Shape& shape,
                       const fs::path& file) override {
    return directories_->link(address, tensor_name(address, dtype, shape), file);
  }

  bool writes_calls() const override { return options_.is_bin; }

  Result<fs::path> write_call(std::span<const Member> members) override {
    OPDUMP_TRY(const format::DumpData data, describe_call(members));
    const std::string header = format::encode_dump_header(data);
    const SlotAddress& address = members[0].address;
    return directories_->create(
        address, format_call_name(call_name(address)),
        [&](const Fd& fd, const fs::path& path) { return write_container(fd, header, members, path); });
  }

  Result<> write_overflow(const SlotAddress& output) override {
    CallName name = call_name(output);
    name.type = kOpDebugType;
    name.name = kOpDebugName;
    const bool is_json = !options_.is_bin;
    const std::string text =
        is_json ? format::encode_op_debug_json(overflow_record(output)) : encode_overflow_file(output);
    auto written = directories_->create(output, format_call_name(name).append(is_json ? kOpDebugJsonEnd : ""),
                                        [&](const Fd& fd, const fs::path& path) {
                                          return write_all(fd, std::as_bytes(std::span(text)), path);
                                        });
    if (!written) return Error(Code::io, written.error().message());
    if (!overflows_.empty() && overflows_.back().step != output.step) overflows_.clear();
    overflows_.push_back(output);
    return ok();
  }

  Result<> move_step(std::int64_t step, std::int64_t from, std::int64_t to) override {
    OPDUMP_CHECK_OK(tables_.close(from, step));
    OPDUMP_CHECK_OK(tables_.close(to, step));
    OPDUMP_CHECK_OK(directories_->move(step, from, to));
    for (SlotAddress output : std::exchange(overflows_, {})) {
      if (output.step != step || output.graph_id != from) continue;
      output.graph_id = to;
      OPDUMP_CHECK_OK(write_overflow(output));
    }
    return ok();
  }

  Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) override {
    CallName name = call_name(address);
    return tables_.append(*directories_, address, {std::move(name.type), std::move(name.name), name.task},
                          row);
  }

  Result<> flush() override {
    OPDUMP_CHECK_OK(directories_->check());
    return tables_.flush();
  }

 private:
  const ModelTreeOptions options_;
  const std::unique_ptr<StepDirectories> directories_;
  StatisticTables tables_;
  std::vector<SlotAddress> overflows_;  // of the last step that has any: their records say its graph
};

}  // namespace

Result<std::unique_ptr<SchemeWriter>> open_model_tree(ModelTreeOptions options) {
  OPDUMP_CHECK_OK(check_net_name(options.net_name));
  OPDUMP_TRY(StatisticTables tables, StatisticTables::make(std::move(options.statistic_columns)));
  const fs::path model = fs::path(options.time_directory) / std::to_string(options.device) / options.net_name;
  const bool step_first = options.step_first;
  const auto path_of = [model, step_first](std::int64_t graph_id, std::int64_t step) {
    const std::string step_name = std::to_string(step);
    const fs::path path = model / std::to_string(graph_id) / step_name;
    return step_first ? fs::path(step_name) / path : path;
  };
  OPDUMP_TRY(auto directories, StepDirectories::open(options.root, options.rank, path_of));
  return std::unique_ptr<SchemeWriter>(
      std::make_unique<ModelTree>(std::move(options), std::move(directories), std::move(tables)));
}

}  // namespace opdump::dump
