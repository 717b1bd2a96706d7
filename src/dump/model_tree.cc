#include "dump/model_tree.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "dump/file_name.h"
#include "dump/npy_file.h"
#include "dump/statistic_tables.h"
#include "dump/tensor_stream.h"
#include "format/dump_data.h"
#include "format/dump_names.h"
#include "format/op_debug.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kDefaultFormat = "DefaultFormat";
// The status that the original's documentation shows for an AI Core whose result overflowed. The device has
// more of them, a bit for each unit; we see the result only.
constexpr std::uint64_t kOverflowStatus = 32;

// "20241121113153"
std::string format_local_time(std::uint64_t us) {
  const auto seconds = static_cast<std::time_t>(us / 1'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &local)};
}

// The name of memory that lies as the program sees it.
std::string_view format_of(const SlotAddress& address, const model::Shape& shape) {
  if (address.format != kDefaultFormat) return address.format;
  return shape.rank() == 4 ? "NCHW" : "ND";
}

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

format::DumpTensor describe(const Layout::Member& member) {
  format::DumpTensor tensor;
  tensor.data_type = format::dump_dtype_number(member.view.dtype);
  tensor.format = format::find_dump_format(format_of(member.address, member.view.shape))
                      .value_or(*format::find_dump_format("ND"));
  for (const std::int64_t dim : member.view.shape.dims())
    tensor.shape.push_back(static_cast<std::uint64_t>(dim));
  tensor.original_shape = tensor.shape;
  tensor.size_bytes = member.view.byte_count();
  return tensor;
}

// In the file a tensor's index is its place: of operands that are absent there is an entry without a type and
// without bytes.
Result<format::DumpData> describe(std::span<const Layout::Member> members) {
  format::DumpData data;
  data.dump_time_us = members[0].address.timestamp_us;
  data.op_name = members[0].address.op->name;
  for (const Layout::Member& member : members) {
    if (format::dump_dtype_number(member.view.dtype) == 0)
      return Error(Code::unsupported, "a tensor without a dtype");
    if (member.address.index >= format::kMaxDumpEntries)
      return Error(Code::limit, "operand index " + std::to_string(member.address.index) + "; at most " +
                                    std::to_string(format::kMaxDumpEntries - 1));
    auto& list = member.address.side == model::Side::input ? data.inputs : data.outputs;
    while (list.size() < member.address.index) list.emplace_back();
    list.push_back(describe(member));
  }
  return data;
}

// The record of an operator that overflowed. What only a device knows is 0.
format::OpDebug overflow_record(const SlotAddress& output) {
  format::OpDebug record;
  record.ai_core.model_id = static_cast<std::uint64_t>(output.graph_id);
  record.ai_core.stream_id = static_cast<std::uint64_t>(output.op->stream);
  record.ai_core.task_id = output.op->task;
  record.ai_core.status = kOverflowStatus;
  return record;
}

std::string encode_overflow_file(const SlotAddress& output) {
  format::DumpTensor blob;
  blob.data_type = format::dump_dtype_number(model::DType::uint8);
  blob.format = *format::find_dump_format("ND");
  blob.shape = {format::kOpDebugBytes};
  blob.original_shape = blob.shape;
  blob.size_bytes = format::kOpDebugBytes;
  format::DumpData data;
  data.dump_time_us = output.timestamp_us;
  data.op_name = "Node_OpDebug";
  data.outputs.push_back(std::move(blob));
  std::string text = format::encode_dump_header(data);
  const std::vector<std::byte> bytes = format::encode_op_debug(overflow_record(output));
  return text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// The text of acl_dump_{device}.json for a step.
std::string encode_acl_json(const ModelTreeOptions& options, std::int64_t step, bool selected,
                            std::span<const std::string> operators) {
  json dump = json::object();
  if (options.scene == ModelTreeOptions::Scene::exception) {
    dump["dump_scene"] = "lite_exception";
    return json{{"dump", std::move(dump)}}.dump();
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
  return json{{"dump", std::move(dump)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

class ModelTree final : public Layout {
 public:
  ModelTree(ModelTreeOptions options, std::unique_ptr<StepDirectories> directories, StatisticTables tables)
      : options_(std::move(options)), directories_(std::move(directories)), tables_(std::move(tables)) {}

  Result<> begin_step(std::int64_t step, bool selected, std::span<const std::string> operators) override {
    if (!options_.step_first) return ok();  // the graph engine is told by other means
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

  bool writes_calls() const override { return options_.file_format == FileFormat::bin; }

  Result<fs::path> write_call(std::span<const Member> members) override {
    OPDUMP_TRY(const format::DumpData data, describe(members));
    const std::string header = format::encode_dump_header(data);
    const SlotAddress& address = members[0].address;
    return directories_->create(address, format_call_name(call_name(address)),
                                [&](const Fd& fd, const fs::path& path) -> Result<> {
                                  StreamWriter writer(fd, header, path);
                                  for (const Member& member : members)
                                    OPDUMP_CHECK_OK(write_elements(writer, member.view));
                                  return ok();
                                });
  }

  Result<> write_overflow(const SlotAddress& output) override {
    CallName name = call_name(output);
    name.type = kOpDebugType;
    name.name = kOpDebugName;
    const bool is_json = options_.file_format == FileFormat::npy;
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

Result<std::unique_ptr<Layout>> open_model_tree(ModelTreeOptions options) {
  OPDUMP_CHECK_OK(check_net_name(options.net_name));
  OPDUMP_TRY(StatisticTables tables, StatisticTables::make(std::move(options.statistic_columns)));
  const fs::path model =
      fs::path(format_local_time(options.start_us)) / std::to_string(options.device) / options.net_name;
  const bool step_first = options.step_first;
  const auto path_of = [model, step_first](std::int64_t graph_id, std::int64_t step) {
    const std::string step_name = std::to_string(step);
    const fs::path path = model / std::to_string(graph_id) / step_name;
    return step_first ? fs::path(step_name) / path : path;
  };
  OPDUMP_TRY(auto directories, StepDirectories::open(options.root, options.rank, path_of));
  return std::unique_ptr<Layout>(
      std::make_unique<ModelTree>(std::move(options), std::move(directories), std::move(tables)));
}

}  // namespace opdump::dump
