#include "dump/read/files/call_file.h"

#include "format/tensors/dump_data.h"
#include "format/tensors/dump_names.h"
#include "format/tensors/op_debug.h"
#include "format/tensors/tlv_dump.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kMaxRecordBytes = 64 << 10;  // of an overflow as JSON

std::string format_name(std::int32_t number) {
  const std::string_view name = format::dump_format_name(number);
  return name.empty() ? "format " + std::to_string(number) : std::string(name);
}

// Devices of two kinds write the same in two ways.
Result<format::DumpData> decode(std::span<const std::byte> file) {
  return format::is_tlv_dump(file) ? format::decode_tlv_dump(file) : format::decode_dump_data(file);
}

// An operand that the execution did not have: a place only.
bool is_absent(const format::DumpTensor& tensor) {
  return tensor.data_type == 0 && tensor.size_bytes == 0 && tensor.shape.empty();
}

// `fault` is what is wrong with the whole file; empty if nothing is.
Slot make_slot(const format::DumpTensor& tensor, const std::filesystem::path& path, const std::string& fault,
               Problems& problems) {
  Slot slot;
  slot.format = format_name(tensor.format);
  slot.dtype = format::dump_dtype(tensor.data_type);
  auto array = format::read_dump_array(tensor);
  if (array) {
    slot.file = path;
    slot.shape = std::move(array->shape);
    slot.part = array->data;
  } else if (!fault.empty()) {
    slot.undumped_reason = fault;
  } else {
    slot.undumped_reason = array.error().message();
    problems.push_back({path, "unusable tensor: " + slot.undumped_reason});
  }
  return slot;
}

}  // namespace

std::vector<Slot> read_call_file(const std::filesystem::path& path, std::uint64_t timestamp_us,
                                 Problems& problems) {
  std::vector<Slot> slots;
  const auto file = MappedFile::open(path);
  const auto data = file ? decode(file->bytes()) : Result<format::DumpData>(file.error());
  if (!data) {
    problems.push_back({path, "no dump of an operator: " + data.error().message()});
    return slots;
  }
  std::string fault;
  if (data->announced_bytes > data->payload_bytes) {
    fault = "torn file: " + std::to_string(data->announced_bytes) + " bytes of data announced, " +
            std::to_string(data->payload_bytes) + " in file";
    problems.push_back({path, fault});
  }
  for (const model::Side side : {model::Side::input, model::Side::output}) {
    const auto& tensors = side == model::Side::input ? data->inputs : data->outputs;
    for (std::uint32_t index = 0; index < tensors.size(); ++index) {
      if (is_absent(tensors[index])) continue;
      Slot& slot = slots.emplace_back(make_slot(tensors[index], path, fault, problems));
      slot.side = side;
      slot.index = index;
      slot.timestamp_us = timestamp_us;
    }
  }
  return slots;
}

Result<Overflow> read_overflow_file(const std::filesystem::path& path) {
  Result<format::OpDebug> record = Error(Code::corrupt, "no record of an overflow");
  if (path.extension() == ".json") {
    OPDUMP_TRY(const std::string text, read_file(path, kMaxRecordBytes));
    record = format::decode_op_debug_json(text);
  } else {
    OPDUMP_TRY(const MappedFile file, MappedFile::open(path));
    OPDUMP_TRY(const format::DumpData data, format::decode_dump_data(file.bytes()));
    if (!data.outputs.empty() && data.outputs[0].data)
      record = format::decode_op_debug(
          file.bytes().subspan(data.outputs[0].data->offset, data.outputs[0].data->bytes));
  }
  if (!record) return record.take_error();
  Overflow overflow;
  overflow.file = path;
  overflow.task = record->ai_core.task_id;
  overflow.stream = static_cast<std::int64_t>(record->ai_core.stream_id);
  overflow.status = record->ai_core.status;
  return overflow;
}

}  // namespace opdump::dump
