// What data buffers and tensor descriptions are, and the dtypes of AscendCL in ours.
#pragma once

#include <acl/acl_base.h>

#include <cstdint>
#include <string>
#include <vector>

struct aclDataBuffer {
  void* data = nullptr;
  std::size_t size = 0;
};

struct aclTensorDesc {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  std::vector<std::int64_t> dims;
  std::string name;
  std::vector<aclTensorDesc> others = {};  // that were made together with it: see aclGetTensorDescByIndex
};

namespace opdump::acl {

struct DataType {
  aclDataType acl;
  std::uint32_t ours;  // opdump_dtype; undefined if we have no such
  int onnx;            // TensorProto.DataType; 0 if there is none
  std::uint32_t bits;
  int dump;  // its number in dump files (cann.md 3.1)
};

// The row of an AscendCL type; of ACL_DT_UNDEFINED for one that we do not know.
const DataType& data_type(aclDataType type);

// The AscendCL type of an opdump_dtype.
aclDataType acl_type(std::uint32_t ours);

// Bytes of a row-major tensor; dimensions that are not known count as 1. 0 if there are too many.
std::size_t byte_count(aclDataType type, const std::int64_t* dims, std::size_t count);

}  // namespace opdump::acl
