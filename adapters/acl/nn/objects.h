// What aclTensor, aclScalar and the lists of acl_meta.h are.
#pragma once

#include <aclnn/acl_meta.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base.h"

struct aclTensor {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  std::vector<std::int64_t> dims, strides, storage_dims;  // strides in elements, one for each dimension
  std::int64_t offset = 0;
  void* data = nullptr;  // of the storage
};

struct aclScalar {
  aclDataType type = ACL_DT_UNDEFINED;
  unsigned char value[16] = {};
};

struct aclIntArray {
  std::vector<std::int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<unsigned char> values;
};
struct aclTensorList {
  std::vector<aclTensor*> values;  // owned
};
struct aclScalarList {
  std::vector<aclScalar*> values;  // owned
};

namespace opdump::acl::nn {

inline constexpr aclnnStatus kNull = 161001, kInvalid = 161002, kRuntime = 361001, kNoObject = 561103;

// Elements are in memory one after the other, in the order of its dimensions.
bool is_row_major(const aclTensor& tensor);

// Where element 0 is.
unsigned char* first_element(const aclTensor& tensor);

std::int64_t element_count(const aclTensor& tensor);

// Copies all elements, from a view to row-major memory and back. The data type has whole bytes.
void gather(const aclTensor& from, unsigned char* to);
void scatter(const unsigned char* from, const aclTensor& to);

// "float32 (2,3)"
std::string describe(aclDataType type, const std::vector<std::int64_t>& dims);

}  // namespace opdump::acl::nn
