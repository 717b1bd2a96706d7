#include "format/tensors/op_debug_text.h"

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "format/tensors/op_debug.h"

namespace opdump::format {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kMagic = 0x5a5a5a5a;
constexpr std::size_t kFieldsOffset = 24;
constexpr std::size_t kStatusWords = 4;  // of version 1

constexpr const char* kCoreFields[] = {"model_id",   "stream_id", "task_id",  "task_type",
                                       "context_id", "thread_id", "pc_start", "para_base",
                                       "core_id",    "block_id",  "status"};
constexpr const char* kCpuFields[] = {"model_id",   "stream_id", "task_id",   "task_type",
                                      "context_id", "cpu_id",    "thread_id", "status"};
constexpr const char* kCopyFields[] = {"model_id",  "stream_id", "task_id",  "task_type",  "context_id",
                                       "thread_id", "src_addr",  "dst_addr", "channel_id", "status"};
struct UnitFields {
  const char* name;
  std::span<const char* const> fields;
  bool is_core = false;
};
constexpr UnitFields kUnits[] = {
    {"AIC", kCoreFields, true}, {"AIV", kCoreFields, true}, {"AICPU", kCpuFields}, {"SDMA", kCopyFields}};

std::uint64_t take(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << 8 * i;
  return value;
}

std::string hexadecimal(std::uint64_t value) {
  char digits[2 + 16 + 1];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(value));
  return digits;
}

bool is_address(std::string_view field) {
  return field == "pc_start" || field == "para_base" || field == "src_addr" || field == "dst_addr";
}

Json unit_of(const OpDebugUnit& unit, bool is_core) {
  Json json = {{"model_id", unit.model_id},
               {"stream_id", unit.stream_id},
               {"task_id", unit.task_id},
               {"task_type", unit.task_type},
               {"pc_start", hexadecimal(unit.pc_start)},
               {"para_base", hexadecimal(unit.para_base)}};
  if (is_core) {
    json["kernel_code"] = hexadecimal(unit.kernel_code);
    json["block_idx"] = unit.block_idx;
  }
  json["status"] = unit.status;
  return json;
}

Result<OpDebugText> format_older(std::span<const std::byte> bytes) {
  if (bytes.size() != kOpDebugBytes)
    return Error(Code::corrupt, "record of " + std::to_string(bytes.size()) + " bytes");
  OPDUMP_TRY(const OpDebug record, decode_op_debug(bytes));
  const Json json = {{"DHA Atomic Add", unit_of(record.dha_atomic_add, false)},
                     {"L2 Atomic Add", unit_of(record.l2_atomic_add, false)},
                     {"AI Core", unit_of(record.ai_core, true)}};
  return OpDebugText{json_text(json, 4), {}};
}

Json fields_of(std::span<const std::byte> bytes, const UnitFields& unit, bool has_long_status) {
  Json json = Json::object();
  std::size_t offset = kFieldsOffset;
  for (const char* field : unit.fields) {
    const std::uint64_t value = take(bytes, offset, 8);
    json[field] = is_address(field) ? Json(hexadecimal(value)) : Json(value);
    offset += 8;
  }
  if (!has_long_status) return json;
  Json words = Json::array();
  for (std::size_t i = 0; i < kStatusWords; ++i) words.push_back(take(bytes, offset - 8 + 8 * i, 8));
  json["status"] = std::move(words);
  return json;
}

Result<OpDebugText> format_newer(std::span<const std::byte> bytes) {
  if (bytes.size() < kFieldsOffset) return Error(Code::corrupt, "record ends within its header");
  const std::uint64_t version = take(bytes, 4, 4), valid = take(bytes, 8, 4), type = take(bytes, 12, 4);
  if (type >= std::size(kUnits)) return Error(Code::unsupported, "unit " + std::to_string(type));
  const UnitFields& unit = kUnits[type];
  const bool has_long_status = unit.is_core && version == 1;
  const std::size_t data_bytes = 8 * (unit.fields.size() + (has_long_status ? kStatusWords - 1 : 0));
  if (bytes.size() - kFieldsOffset < data_bytes)
    return Error(Code::corrupt, "record ends within its numbers");
  const std::uint64_t stated_bytes = take(bytes, 20, 4);
  OpDebugText text;
  if (valid != 1)
    text.remarks.push_back("The value of valid in the OpDebug file is " + std::to_string(valid) +
                           ", it is not 1");
  if (stated_bytes != data_bytes)
    text.remarks.push_back("The value of data_len in the OpDebug file is " + std::to_string(stated_bytes) +
                           ", it is not equal the expect value " + std::to_string(data_bytes));
  const Json list = {{"valid", valid},
                     {"acc_type", unit.name},
                     {"rsv", take(bytes, 16, 4)},
                     {"data_len", stated_bytes},
                     {"data", fields_of(bytes, unit, has_long_status)}};
  text.json = json_text(Json{{"magic", hexadecimal(kMagic)}, {"version", version}, {"acc_list", list}}, 4);
  return text;
}

}  // namespace

Result<OpDebugText> format_op_debug(std::span<const std::byte> record) {
  return is_newer_op_debug(record) ? format_newer(record) : format_older(record);
}

bool is_newer_op_debug(std::span<const std::byte> record) {
  return record.size() >= 4 && take(record, 0, 4) == kMagic;
}

}  // namespace opdump::format
