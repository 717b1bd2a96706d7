#include "format/tensors/op_debug.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/text/json.h"

namespace opdump::format {
namespace {

using nlohmann::json;

// Where the older kind has its parts, in bytes.
constexpr std::size_t kDhaInfo = 0, kL2Info = 128, kAiCoreInfo = 256;
constexpr std::size_t kDhaStatus = 512, kL2Status = 768, kAiCoreStatus = 1024;

// The newer kind: three numbers of 32 bits before the unit, which determines the numbers that follow.
constexpr std::uint64_t kNewMagic = 0x5a5a5a5a;
constexpr std::size_t kUnitOffset = 12, kFieldsOffset = 24;
// Where the status comes among the numbers of AIC, AIV, AICPU and SDMA.
constexpr std::size_t kStatusField[] = {10, 10, 7, 9};

struct RecordField {
  const char* name;
  std::uint64_t OpDebugUnit::*value;
  bool is_address;  // written as "0x12ab"
};
constexpr RecordField kFields[] = {
    {"model_id", &OpDebugUnit::model_id, false},   {"stream_id", &OpDebugUnit::stream_id, false},
    {"task_id", &OpDebugUnit::task_id, false},     {"task_type", &OpDebugUnit::task_type, false},
    {"pc_start", &OpDebugUnit::pc_start, true},    {"para_base", &OpDebugUnit::para_base, true},
    {"status", &OpDebugUnit::status, false},       {"kernel_code", &OpDebugUnit::kernel_code, true},
    {"block_idx", &OpDebugUnit::block_idx, false},
};
constexpr std::size_t kInfoFields = 6;      // those that the info part has
constexpr std::size_t kFieldsOfOthers = 7;  // without what only the AI Core has
constexpr std::size_t kFieldsOfAiCore = std::size(kFields);

struct RecordUnit {
  const char* name;
  OpDebugUnit OpDebug::*unit;
  std::size_t field_count;
};
constexpr RecordUnit kUnits[] = {{"DHA Atomic Add", &OpDebug::dha_atomic_add, kFieldsOfOthers},
                                 {"L2 Atomic Add", &OpDebug::l2_atomic_add, kFieldsOfOthers},
                                 {"AI Core", &OpDebug::ai_core, kFieldsOfAiCore}};

void put(std::vector<std::byte>& blob, std::size_t offset, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) blob[offset + i] = static_cast<std::byte>(value >> 8 * i & 0xFF);
}

std::uint64_t take(std::span<const std::byte> blob, std::size_t offset, std::size_t size = 8) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(blob[offset + i]) << 8 * i;
  return value;
}

void put_info(std::vector<std::byte>& blob, std::size_t offset, const OpDebugUnit& unit) {
  for (std::size_t i = 0; i < kInfoFields; ++i) put(blob, offset + 8 * i, unit.*kFields[i].value);
}

OpDebugUnit take_info(std::span<const std::byte> blob, std::size_t offset) {
  OpDebugUnit unit;
  for (std::size_t i = 0; i < kInfoFields; ++i) unit.*kFields[i].value = take(blob, offset + 8 * i);
  return unit;
}

OpDebug decode_newer(std::span<const std::byte> blob) {
  OpDebug record;
  for (std::size_t i = 0; i < 4; ++i) record.ai_core.*kFields[i].value = take(blob, kFieldsOffset + 8 * i);
  const std::uint64_t unit = take(blob, kUnitOffset, 4);
  const std::size_t status = kStatusField[unit < std::size(kStatusField) ? unit : 0];
  record.ai_core.status = take(blob, kFieldsOffset + 8 * status);
  return record;
}

std::string hexadecimal(std::uint64_t value) {
  char digits[2 + 16 + 1];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(value));
  return digits;
}

// A number, or an address such as "0x12ab"; nothing for anything else.
std::optional<std::uint64_t> number_of(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (!text.starts_with("0x") || text.size() < 3 || text.size() > 18) return std::nullopt;
  if (text.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 16);
}

}  // namespace

std::vector<std::byte> encode_op_debug(const OpDebug& record) {
  std::vector<std::byte> blob(kOpDebugBytes);
  put_info(blob, kDhaInfo, record.dha_atomic_add);
  put_info(blob, kL2Info, record.l2_atomic_add);
  put_info(blob, kAiCoreInfo, record.ai_core);
  put(blob, kDhaStatus, record.dha_atomic_add.status);
  put(blob, kL2Status, record.l2_atomic_add.status);
  put(blob, kAiCoreStatus, record.ai_core.kernel_code);
  put(blob, kAiCoreStatus + 8, record.ai_core.block_idx);
  put(blob, kAiCoreStatus + 16, record.ai_core.status);
  return blob;
}

std::vector<std::byte> encode_newer_op_debug(const OpDebugUnit& unit) {
  constexpr std::uint64_t kNone = 65535;  // no context, no thread
  const std::uint64_t fields[] = {unit.model_id, unit.stream_id, unit.task_id,  unit.task_type,
                                  kNone,         kNone,          unit.pc_start, unit.para_base,
                                  /* core */ 0,  unit.block_idx, unit.status};
  std::vector<std::byte> blob(kOpDebugBytes);
  put(blob, 0, kNewMagic);                            // version 0
  put(blob, 8, 1);                                    // valid; an AI core
  put(blob, 16, std::uint64_t{sizeof fields} << 32);  // behind 32 bits of nothing: the fields' bytes
  for (std::size_t i = 0; i < std::size(fields); ++i) put(blob, kFieldsOffset + 8 * i, fields[i]);
  return blob;
}

std::string encode_op_debug_json(const OpDebug& record) {
  json document;
  for (const RecordUnit& unit : kUnits) {
    json& object = document[unit.name];
    for (const RecordField& field : std::span(kFields).first(unit.field_count)) {
      const std::uint64_t value = (record.*unit.unit).*field.value;
      object[field.name] = field.is_address ? json(hexadecimal(value)) : json(value);
    }
  }
  return json_text(document);
}

Result<OpDebug> decode_op_debug(std::span<const std::byte> blob) {
  if (blob.size() < kOpDebugBytes)
    return Error(Code::corrupt, "overflow record of " + std::to_string(blob.size()) + " bytes; expected " +
                                    std::to_string(kOpDebugBytes));
  if (take(blob, 0, 4) == kNewMagic) return decode_newer(blob);
  OpDebug record{take_info(blob, kDhaInfo), take_info(blob, kL2Info), take_info(blob, kAiCoreInfo)};
  record.dha_atomic_add.status = take(blob, kDhaStatus);
  record.l2_atomic_add.status = take(blob, kL2Status);
  record.ai_core.kernel_code = take(blob, kAiCoreStatus);
  record.ai_core.block_idx = take(blob, kAiCoreStatus + 8);
  record.ai_core.status = take(blob, kAiCoreStatus + 16);
  return record;
}

Result<OpDebug> decode_op_debug_json(std::string_view text) {
  const json document = parse_json(text);
  if (!document.is_object()) return Error(Code::corrupt, "overflow record: expected a JSON object");
  OpDebug record;
  for (const RecordUnit& unit : kUnits) {
    const auto object = document.find(unit.name);
    if (object == document.end() || !object->is_object())
      return Error(Code::corrupt, std::string("overflow record: \"") + unit.name + "\" is missing");
    for (const RecordField& field : std::span(kFields).first(unit.field_count)) {
      const auto found = object->find(field.name);
      const auto value = found == object->end() ? std::nullopt : number_of(*found);
      if (!value)
        return Error(Code::corrupt, std::string("overflow record: ") + unit.name + "." + field.name +
                                        " is missing or no number");
      (record.*unit.unit).*field.value = *value;
    }
  }
  return record;
}

}  // namespace opdump::format
