#include "dump/write/call_data.h"

#include <ctime>
#include <utility>
#include <vector>

#include "dump/write/tensor_stream.h"
#include "format/tensors/dump_names.h"

namespace opdump::dump {
namespace {

constexpr std::string_view kDefaultFormat = "DefaultFormat";
// The status that the original's documentation shows for an AI Core whose result overflowed. The device has
// more of them, a bit for each unit; we see the result only.
constexpr std::uint64_t kOverflowStatus = 32;

}  // namespace

std::span<const std::int64_t> original_dims(const SchemeWriter::Member& member) {
  const model::Shape& original = member.address.original_shape;
  return original.rank() > 0 ? original.dims() : member.view.shape.dims();
}

namespace {

format::DumpTensor describe(const SchemeWriter::Member& member) {
  format::DumpTensor tensor;
  tensor.data_type = format::dump_dtype_number(member.view.dtype);
  tensor.format = format::find_dump_format(format_of(member.address, member.view.shape))
                      .value_or(*format::find_dump_format("ND"));
  const auto dims = member.view.shape.dims();
  tensor.shape.assign(dims.begin(), dims.end());
  const auto original = original_dims(member);
  tensor.original_shape.emplace(original.begin(), original.end());
  tensor.size_bytes = member.view.byte_count();
  return tensor;
}

}  // namespace

std::string format_local_time(std::uint64_t us) {
  const auto seconds = static_cast<std::time_t>(us / 1'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &local)};
}

std::string_view format_of(const SlotAddress& address, const model::Shape& shape) {
  if (address.format != kDefaultFormat) return address.format;
  return shape.rank() == 4 ? "NCHW" : "ND";
}

Result<format::DumpData> describe_call(std::span<const SchemeWriter::Member> members) {
  format::DumpData data;
  data.dump_time_us = members[0].address.timestamp_us;
  data.op_name = members[0].address.op->name;
  for (const SchemeWriter::Member& member : members) {
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

Result<> write_container(const Fd& fd, std::string_view header, std::span<const SchemeWriter::Member> members,
                         const std::filesystem::path& path) {
  std::uint64_t bytes = header.size();
  for (const SchemeWriter::Member& member : members) bytes += member.view.byte_count();
  StreamWriter writer(fd, header, path, bytes);
  for (const SchemeWriter::Member& member : members) OPDUMP_CHECK_OK(write_elements(writer, member.view));
  return writer.finish();
}

format::OpDebug overflow_record(const SlotAddress& output) {
  format::OpDebug record;
  record.ai_core.model_id = static_cast<std::uint64_t>(output.graph_id);
  record.ai_core.stream_id = static_cast<std::uint64_t>(output.op->stream);
  record.ai_core.task_id = output.op->task;
  record.ai_core.status = kOverflowStatus;
  return record;
}

std::string encode_overflow_file(const SlotAddress& output, bool newer) {
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
  const format::OpDebug record = overflow_record(output);
  const std::vector<std::byte> bytes =
      newer ? format::encode_newer_op_debug(record.ai_core) : format::encode_op_debug(record);
  return text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace opdump::dump
