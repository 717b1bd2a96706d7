#include "nn/objects.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "failure.h"

namespace opdump::acl::nn {
namespace {

// Calls `f(position in row-major order, position in the view)` for each element, in bytes.
template <typename F>
void for_each_element(const aclTensor& tensor, F&& f) {
  const std::int64_t count = element_count(tensor);
  const auto size = static_cast<std::int64_t>(aclDataTypeSize(tensor.type));
  std::vector<std::int64_t> index(tensor.dims.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    f(i * size, at * size);
    for (std::size_t axis = tensor.dims.size(); axis-- > 0;) {
      at += tensor.strides[axis];
      if (++index[axis] < tensor.dims[axis]) break;
      at -= tensor.strides[axis] * tensor.dims[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

std::int64_t element_count(const aclTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.dims) count *= dim;  // checked when it was made
  return count;
}

bool is_row_major(const aclTensor& tensor) {
  std::int64_t expected = 1;
  for (std::size_t axis = tensor.dims.size(); axis-- > 0; expected *= tensor.dims[axis])
    if (tensor.dims[axis] != 1 && tensor.strides[axis] != expected) return false;
  return true;
}

unsigned char* first_element(const aclTensor& tensor) {
  return static_cast<unsigned char*>(tensor.data) +
         tensor.offset * static_cast<std::int64_t>(aclDataTypeSize(tensor.type));
}

void gather(const aclTensor& from, unsigned char* to) {
  const std::size_t size = aclDataTypeSize(from.type);
  const unsigned char* data = first_element(from);
  for_each_element(from, [&](std::int64_t i, std::int64_t at) { std::memcpy(to + i, data + at, size); });
}

void scatter(const unsigned char* from, const aclTensor& to) {
  const std::size_t size = aclDataTypeSize(to.type);
  unsigned char* data = first_element(to);
  for_each_element(to, [&](std::int64_t i, std::int64_t at) { std::memcpy(data + at, from + i, size); });
}

std::string describe(aclDataType type, const std::vector<std::int64_t>& dims) {
  std::string text = "type " + std::to_string(type) + " (";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return text + ")";
}

}  // namespace opdump::acl::nn

using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;
using opdump::acl::nn::kInvalid;
using opdump::acl::nn::kNull;

namespace {

aclnnStatus refuse_null(const char* function, const char* argument) {
  fail_null(function, argument);
  return kNull;
}

aclnnStatus refuse(const std::string& text) { return fail(kInvalid, "EP0006: " + text); }

// The bytes from the first to the last element fit in 63 bits, so that nothing overflows later.
bool is_sound(const aclTensor& tensor) {
  std::int64_t count = 1, end = tensor.offset;
  if (tensor.offset < 0) return false;
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    std::int64_t reach = 0;
    if (tensor.dims[i] < 0 || tensor.strides[i] < 0 ||
        __builtin_mul_overflow(count, tensor.dims[i], &count) ||
        __builtin_mul_overflow(std::max<std::int64_t>(tensor.dims[i] - 1, 0), tensor.strides[i], &reach) ||
        __builtin_add_overflow(end, reach, &end))
      return false;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16 - 1;
  return count <= kMost && end <= kMost;
}

// Strides of a row-major tensor; false if they are too large.
bool make_strides(const std::vector<std::int64_t>& dims, std::vector<std::int64_t>& strides) {
  strides.assign(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;)
    if (__builtin_mul_overflow(strides[axis], dims[axis], &strides[axis - 1])) return false;
  return true;
}

aclnnStatus init(aclTensor& tensor, const int64_t* dims, uint64_t count, aclDataType type,
                 const int64_t* strides, int64_t offset, aclFormat format, const int64_t* storage_dims,
                 uint64_t storage_count, void* data) {
  constexpr std::uint64_t kMostDims = 25;
  if (count > 0 && !dims) return refuse_null("aclCreateTensor", "viewDims");
  if (storage_count > 0 && !storage_dims) return refuse_null("aclCreateTensor", "storageDims");
  if (count > kMostDims || storage_count > kMostDims)
    return refuse("aclCreateTensor: more than 25 dimensions");
  aclTensor made{type,   format, {dims, dims + count}, {}, {storage_dims, storage_dims + storage_count},
                 offset, data};
  if (strides)
    made.strides.assign(strides, strides + count);
  else if (!make_strides(made.dims, made.strides))
    return refuse("aclCreateTensor: the tensor is too large");
  if (!is_sound(made))
    return refuse(
        "aclCreateTensor: a dimension, a stride or the offset is negative, or the tensor is too large");
  tensor = std::move(made);
  return ACL_SUCCESS;
}

template <typename List, typename T>
List* make_list(const char* function, const T* values, std::uint64_t size) {
  if (size > 0 && !values) {
    refuse_null(function, "value");
    return nullptr;
  }
  List* list = nullptr;
  guarded([&] {
    list = new List;
    for (std::uint64_t i = 0; i < size; ++i)
      list->values.push_back(static_cast<typename decltype(list->values)::value_type>(values[i]));
    return ACL_SUCCESS;
  });
  return list;
}

template <typename T>
aclnnStatus destroy(const char* function, const T* object) {
  if (!object) return refuse_null(function, "the object");
  delete object;
  return ACL_SUCCESS;
}

template <typename List>
aclnnStatus destroy_all(const char* function, const List* list) {
  if (!list) return refuse_null(function, "the list");
  for (auto* value : list->values) delete value;
  delete list;
  return ACL_SUCCESS;
}

aclnnStatus give_dims(const char* function, const aclTensor* tensor,
                      const std::vector<std::int64_t> aclTensor::*member, int64_t** dims, uint64_t* count) {
  if (!tensor || !dims || !count) return refuse_null(function, tensor ? "a result" : "tensor");
  const std::vector<std::int64_t>& values = tensor->*member;
  *dims = new (std::nothrow) int64_t[values.size() + 1];
  if (!*dims) return fail(ACL_ERROR_BAD_ALLOC, "out of memory");
  std::ranges::copy(values, *dims);
  *count = values.size();
  return ACL_SUCCESS;
}

template <typename List>
aclnnStatus give_size(const char* function, const List* list, uint64_t* size) {
  if (!list || !size) return refuse_null(function, list ? "size" : "the list");
  *size = list->values.size();
  return ACL_SUCCESS;
}

}  // namespace

aclTensor* aclCreateTensor(const int64_t* dims, uint64_t count, aclDataType type, const int64_t* strides,
                           int64_t offset, aclFormat format, const int64_t* storage_dims,
                           uint64_t storage_count, void* data) {
  auto* tensor = new (std::nothrow) aclTensor;
  if (!tensor) return nullptr;
  const aclnnStatus code = guarded([&] {
    return init(*tensor, dims, count, type, strides, offset, format, storage_dims, storage_count, data);
  });
  if (code == ACL_SUCCESS) return tensor;
  delete tensor;
  return nullptr;
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* dims, uint64_t count, aclDataType type,
                          const int64_t* strides, int64_t offset, aclFormat format,
                          const int64_t* storage_dims, uint64_t storage_count, void* data) {
  if (!tensor) return refuse_null("aclInitTensor", "tensor");
  return guarded([&] {
    return init(*tensor, dims, count, type, strides, offset, format, storage_dims, storage_count, data);
  });
}

aclScalar* aclCreateScalar(void* value, aclDataType type) {
  const std::size_t size = aclDataTypeSize(type);
  if (!value || size == 0 || size > sizeof aclScalar::value) {
    refuse("aclCreateScalar: value is NULL, or data type " + std::to_string(type) +
           " is not that of a number");
    return nullptr;
  }
  auto* scalar = new (std::nothrow) aclScalar{type, {}};
  if (scalar) std::memcpy(scalar->value, value, size);
  return scalar;
}

aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t size) {
  return make_list<aclIntArray>("aclCreateIntArray", values, size);
}
aclFloatArray* aclCreateFloatArray(const float* values, uint64_t size) {
  return make_list<aclFloatArray>("aclCreateFloatArray", values, size);
}
aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t size) {
  return make_list<aclBoolArray>("aclCreateBoolArray", values, size);
}
aclTensorList* aclCreateTensorList(const aclTensor* const* values, uint64_t size) {
  return make_list<aclTensorList>("aclCreateTensorList", const_cast<aclTensor* const*>(values), size);
}
aclScalarList* aclCreateScalarList(const aclScalar* const* values, uint64_t size) {
  return make_list<aclScalarList>("aclCreateScalarList", const_cast<aclScalar* const*>(values), size);
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) { return destroy("aclDestroyTensor", tensor); }
aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return destroy("aclDestroyScalar", scalar); }
aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return destroy("aclDestroyIntArray", array); }
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy("aclDestroyFloatArray", array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return destroy("aclDestroyBoolArray", array); }
aclnnStatus aclDestroyTensorList(const aclTensorList* list) {
  return destroy_all("aclDestroyTensorList", list);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* list) {
  return destroy_all("aclDestroyScalarList", list);
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** dims, uint64_t* count) {
  return give_dims("aclGetViewShape", tensor, &aclTensor::dims, dims, count);
}
aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** dims, uint64_t* count) {
  return give_dims("aclGetStorageShape", tensor, &aclTensor::storage_dims, dims, count);
}
aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** strides, uint64_t* count) {
  return give_dims("aclGetViewStrides", tensor, &aclTensor::strides, strides, count);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  if (!tensor || !offset) return refuse_null("aclGetViewOffset", tensor ? "offset" : "tensor");
  *offset = tensor->offset;
  return ACL_SUCCESS;
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  if (!tensor || !format) return refuse_null("aclGetFormat", tensor ? "format" : "tensor");
  *format = tensor->format;
  return ACL_SUCCESS;
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* type) {
  if (!tensor || !type) return refuse_null("aclGetDataType", tensor ? "dataType" : "tensor");
  *type = tensor->type;
  return ACL_SUCCESS;
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return give_size("aclGetIntArraySize", array, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return give_size("aclGetFloatArraySize", array, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return give_size("aclGetBoolArraySize", array, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
  return give_size("aclGetTensorListSize", list, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* list, uint64_t* size) {
  return give_size("aclGetScalarListSize", list, size);
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** address) {
  if (!tensor || !address) return refuse_null("aclGetRawTensorAddr", tensor ? "addr" : "tensor");
  *address = tensor->data;
  return ACL_SUCCESS;
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* address) {
  if (!tensor) return refuse_null("aclSetRawTensorAddr", "tensor");
  tensor->data = address;
  return ACL_SUCCESS;
}
