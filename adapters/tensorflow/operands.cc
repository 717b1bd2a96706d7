#include "operands.h"

#include <mutex>
#include <string>
#include <unordered_set>

#include <tensorflow/core/common_runtime/dma_helper.h>
#include "blocks.h"

namespace opdump::tensorflow_adapter {
namespace {

namespace tf = tensorflow;

opdump_dtype to_dtype(tf::DataType type) {
  switch (tf::BaseType(type)) {
    case tf::DT_BOOL:
      return OPDUMP_BOOL;
    case tf::DT_INT8:
    case tf::DT_QINT8:
      return OPDUMP_INT8;
    case tf::DT_INT16:
    case tf::DT_QINT16:
      return OPDUMP_INT16;
    case tf::DT_INT32:
    case tf::DT_QINT32:
      return OPDUMP_INT32;
    case tf::DT_INT64:
      return OPDUMP_INT64;
    case tf::DT_UINT8:
    case tf::DT_QUINT8:
      return OPDUMP_UINT8;
    case tf::DT_UINT16:
    case tf::DT_QUINT16:
      return OPDUMP_UINT16;
    case tf::DT_UINT32:
      return OPDUMP_UINT32;
    case tf::DT_UINT64:
      return OPDUMP_UINT64;
    case tf::DT_HALF:
      return OPDUMP_FLOAT16;
    case tf::DT_BFLOAT16:
      return OPDUMP_BFLOAT16;
    case tf::DT_FLOAT:
      return OPDUMP_FLOAT32;
    case tf::DT_DOUBLE:
      return OPDUMP_FLOAT64;
    case tf::DT_COMPLEX64:
      return OPDUMP_COMPLEX64;
    case tf::DT_COMPLEX128:
      return OPDUMP_COMPLEX128;
    case tf::DT_FLOAT8_E4M3FN:
      return OPDUMP_FLOAT8_E4M3;
    case tf::DT_FLOAT8_E5M2:
      return OPDUMP_FLOAT8_E5M2;
    default:
      return OPDUMP_DTYPE_UNDEFINED;
  }
}

const char* obstacle_of(tf::DataType type) {
  switch (tf::BaseType(type)) {
    case tf::DT_STRING:
      return "strings";
    case tf::DT_VARIANT:
      return "variant";
    default:
      return "unknown data type";
  }
}

}  // namespace

const void* base_of(const tf::Tensor& tensor) {
  const tf::TensorBuffer* const buffer = tf::DMAHelper::buffer(&tensor);
  return buffer ? const_cast<tf::TensorBuffer*>(buffer)->root_buffer()->data() : nullptr;
}

const char* intern(const std::string& text) {
  static std::mutex mutex;
  static auto* const texts = new std::unordered_set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  return texts->insert(text).first->c_str();
}

void Operands::add(const tf::Tensor& tensor, std::size_t index, std::uint32_t format, const char* undumped) {
  if (!tensor.IsInitialized() || tf::BaseType(tensor.dtype()) == tf::DT_RESOURCE) return;
  opdump_tensor operand{};
  operand.size = sizeof operand;
  operand.index = static_cast<std::uint32_t>(index);
  operand.dtype = to_dtype(tensor.dtype());
  std::vector<std::int64_t>& shape = shapes_.emplace_back();
  for (int i = 0; i < tensor.dims(); ++i) shape.push_back(tensor.dim_size(i));
  operand.rank = static_cast<std::uint32_t>(shape.size());
  operand.shape = shape.data();
  if (operand.rank == 4) operand.format = format;
  if (operand.dtype == OPDUMP_DTYPE_UNDEFINED) {
    operand.undumped = obstacle_of(tensor.dtype());
  } else {
    operand.undumped = undumped;
    operand.data = tensor.data();
    if (const void* const base = base_of(tensor)) {
      const Block block = blocks().find(base);
      operand.block = block.number;
      operand.block_offset = static_cast<const char*>(operand.data) - static_cast<const char*>(base);
      operand.version = block.version;
      operand.name = block.name;
      operand.role = block.role;
    }
  }
  operands_.push_back(operand);
}

void Operands::add_written(const tf::Tensor& tensor, std::size_t index, std::uint32_t format) {
  if (const void* const base = base_of(tensor)) blocks().note_write(base);
  add(tensor, index, format);
}

}  // namespace opdump::tensorflow_adapter
