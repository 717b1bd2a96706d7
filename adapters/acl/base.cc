#include "base.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>

#include "failure.h"
#include "opdump/opdump.h"

namespace opdump::acl {
namespace {

thread_local std::string recent;
thread_local bool has_recent = false;

constexpr std::array kTypes{
    DataType{ACL_DT_UNDEFINED, OPDUMP_DTYPE_UNDEFINED, 0, 0, 0},
    DataType{ACL_FLOAT, OPDUMP_FLOAT32, 1, 32, 1},
    DataType{ACL_FLOAT16, OPDUMP_FLOAT16, 10, 16, 2},
    DataType{ACL_INT8, OPDUMP_INT8, 3, 8, 3},
    DataType{ACL_INT32, OPDUMP_INT32, 6, 32, 7},
    DataType{ACL_UINT8, OPDUMP_UINT8, 2, 8, 4},
    DataType{ACL_INT16, OPDUMP_INT16, 5, 16, 5},
    DataType{ACL_UINT16, OPDUMP_UINT16, 4, 16, 6},
    DataType{ACL_UINT32, OPDUMP_UINT32, 12, 32, 9},
    DataType{ACL_INT64, OPDUMP_INT64, 7, 64, 8},
    DataType{ACL_UINT64, OPDUMP_UINT64, 13, 64, 10},
    DataType{ACL_DOUBLE, OPDUMP_FLOAT64, 11, 64, 12},
    DataType{ACL_BOOL, OPDUMP_BOOL, 9, 8, 11},
    DataType{ACL_COMPLEX64, OPDUMP_COMPLEX64, 14, 64, 16},
    DataType{ACL_COMPLEX128, OPDUMP_COMPLEX128, 15, 128, 17},
    DataType{ACL_BF16, OPDUMP_BFLOAT16, 16, 16, 27},
    DataType{ACL_INT4, OPDUMP_INT4, 22, 4, 28},
    DataType{ACL_UINT1, OPDUMP_UINT1, 0, 1, 29},
    DataType{ACL_COMPLEX32, OPDUMP_DTYPE_UNDEFINED, 0, 32, 32},
    DataType{ACL_HIFLOAT8, OPDUMP_DTYPE_UNDEFINED, 0, 8, 33},
    DataType{ACL_FLOAT8_E5M2, OPDUMP_FLOAT8_E5M2, 19, 8, 34},
    DataType{ACL_FLOAT8_E4M3FN, OPDUMP_FLOAT8_E4M3, 17, 8, 35},
    DataType{ACL_FLOAT8_E8M0, OPDUMP_DTYPE_UNDEFINED, 0, 8, 36},
    DataType{ACL_FLOAT6_E3M2, OPDUMP_DTYPE_UNDEFINED, 0, 6, 37},
    DataType{ACL_FLOAT6_E2M3, OPDUMP_DTYPE_UNDEFINED, 0, 6, 38},
    DataType{ACL_FLOAT4_E2M1, OPDUMP_DTYPE_UNDEFINED, 0, 4, 39},
    DataType{ACL_FLOAT4_E1M2, OPDUMP_DTYPE_UNDEFINED, 0, 4, 40},
    DataType{ACL_STRING, OPDUMP_DTYPE_UNDEFINED, 0, 0, 13},
};

// aclAppLog's.
constexpr const char* kLevels[] = {"DEBUG", "INFO", "WARNING", "ERROR"};

int lowest_level() {
  const char* text = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
  return text && *text >= '0' && *text <= '4' && text[1] == '\0' ? *text - '0' : ACL_ERROR;
}

}  // namespace

void write_log(void*, int level, const char* line) {
  std::fprintf(stderr, "opdump: %s%s\n", level >= OPDUMP_LOG_WARNING ? "warning: " : "", line);
}

aclError fail(aclError code, const std::string& text) {
  recent = text;
  has_recent = true;
  return code;
}

aclError fail_null(const char* function, const char* argument) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string("EP0007: ") + function + ": " + argument + " is NULL");
}

const DataType& data_type(aclDataType type) {
  const auto* found = std::ranges::find(kTypes, type, &DataType::acl);
  return found == kTypes.end() ? kTypes[0] : *found;
}

aclDataType acl_type(std::uint32_t ours) {
  if (ours == OPDUMP_DTYPE_UNDEFINED) return ACL_DT_UNDEFINED;
  const auto* found = std::ranges::find(kTypes, ours, &DataType::ours);
  return found == kTypes.end() ? ACL_DT_UNDEFINED : found->acl;
}

std::size_t byte_count(aclDataType type, const std::int64_t* dims, std::size_t count) {
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < count; ++i)
    if (__builtin_mul_overflow(
            elements, static_cast<std::uint64_t>(std::max<std::int64_t>(dims[i], dims[i] == 0 ? 0 : 1)),
            &elements))
      return 0;
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, data_type(type).bits, &bits)) return 0;
  return bits / 8 + (bits % 8 != 0);
}

}  // namespace opdump::acl

using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;

void aclAppLog(aclLogLevel level, const char* function, const char* file, uint32_t line, const char* format,
               ...) {
  if (!function || !file || !format || level < ACL_DEBUG || level > ACL_ERROR ||
      level < opdump::acl::lowest_level())
    return;
  char text[1024];  // as long as CANN's
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm local{};
  ::localtime_r(&now.tv_sec, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%d-%H:%M:%S", &local);
  const char* name = std::strrchr(file, '/');
  const char* to_stdout = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
  std::fprintf(to_stdout && std::strcmp(to_stdout, "1") == 0 ? stdout : stderr,
               "[%s] APP(%d,%s):%s.%03ld.%03ld [%s:%u]%d %s: %s\n", opdump::acl::kLevels[level], ::getpid(),
               ::program_invocation_short_name, time, now.tv_nsec / 1000000, now.tv_nsec / 1000 % 1000,
               name ? name + 1 : file, line, ::gettid(), function, text);
}

const char* aclGetRecentErrMsg(void) {
  if (!opdump::acl::has_recent) return nullptr;
  opdump::acl::has_recent = false;
  return opdump::acl::recent.c_str();
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return new (std::nothrow) aclDataBuffer{data, size};
}

aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
  if (!buffer) return fail_null("aclDestroyDataBuffer", "dataBuffer");
  delete buffer;
  return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer* buffer, void* data, size_t size) {
  if (!buffer) return fail_null("aclUpdateDataBuffer", "dataBuffer");
  *buffer = {data, size};
  return ACL_SUCCESS;
}

void* aclGetDataBufferAddr(const aclDataBuffer* buffer) { return buffer ? buffer->data : nullptr; }
uint32_t aclGetDataBufferSize(const aclDataBuffer* buffer) {
  return buffer ? static_cast<uint32_t>(buffer->size) : 0;
}
size_t aclGetDataBufferSizeV2(const aclDataBuffer* buffer) { return buffer ? buffer->size : 0; }

size_t aclDataTypeSize(aclDataType type) { return (opdump::acl::data_type(type).bits + 7) / 8; }

float aclFloat16ToFloat(aclFloat16 value) {
  const std::uint32_t sign = (value & 0x8000u) << 16, exponent = value >> 10 & 0x1fu,
                      mantissa = value & 0x3ffu;
  if (exponent == 0) {
    const float size = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal, exact
    return sign ? -size : size;
  }
  const std::uint32_t bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// To nearest, ties to even.
aclFloat16 aclFloatToFloat16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<aclFloat16>(sign | 0x7e00u);   // NaN
  if (size >= 0x477ff000u) return static_cast<aclFloat16>(sign | 0x7c00u);  // rounds to infinity
  if (size < 0x38800000u) {  // subnormal: the sum shifts the mantissa into place and rounds it
    float shifted = 0;
    std::memcpy(&shifted, &size, sizeof shifted);
    shifted += 0.5F;
    std::memcpy(&bits, &shifted, sizeof bits);
    return static_cast<aclFloat16>(sign | (bits - 0x3f000000u));
  }
  const std::uint32_t rounded = size - (112u << 23) + 0xfffu + (size >> 13 & 1u);
  return static_cast<aclFloat16>(sign | rounded >> 13);
}

aclTensorDesc* aclCreateTensorDesc(aclDataType type, int count, const int64_t* dims, aclFormat format) {
  if (count < 0 || (count > 0 && !dims)) {
    fail_null("aclCreateTensorDesc", "dims");
    return nullptr;
  }
  aclTensorDesc* desc = nullptr;
  guarded([&] {
    desc = new aclTensorDesc{type, format, {dims, dims + count}, {}, {}};
    return ACL_SUCCESS;
  });
  return desc;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete desc; }
aclDataType aclGetTensorDescType(const aclTensorDesc* desc) { return desc ? desc->type : ACL_DT_UNDEFINED; }
aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return desc ? desc->format : ACL_FORMAT_UNDEFINED;
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return desc ? opdump::acl::byte_count(desc->type, desc->dims.data(), desc->dims.size()) : 0;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  return desc ? opdump::acl::byte_count(ACL_INT8, desc->dims.data(), desc->dims.size()) : 0;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) { return desc ? desc->dims.size() : 0; }

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  return desc && index < desc->dims.size() ? desc->dims[index] : -1;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* size) {
  if (!desc || !size) return fail_null("aclGetTensorDescDimV2", desc ? "dimSize" : "desc");
  if (index >= desc->dims.size())
    return fail(ACL_ERROR_INVALID_PARAM, "EP0006: the tensor has no dimension " + std::to_string(index));
  *size = desc->dims[index];
  return ACL_SUCCESS;
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  if (desc) desc->name = name ? name : "";
}
const char* aclGetTensorDescName(aclTensorDesc* desc) { return desc ? desc->name.c_str() : ""; }

aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc* desc, size_t index) {
  if (!desc || index > desc->others.size()) return nullptr;
  return index == 0 ? desc : &desc->others[index - 1];
}
void* aclGetTensorDescAddress(const aclTensorDesc*) { return nullptr; }
