// A single operator of CANN as an ONNX model of one operator.
#pragma once

#include <acl/acl_op.h>

#include <string>
#include <vector>

#include "base.h"
#include "onnx_writer.h"

struct aclopAttr {
  opdump::acl::Attributes values;
};

namespace opdump::acl {

struct OpCall {
  std::string type;  // CANN's
  std::vector<const aclTensorDesc*> inputs;
  std::size_t output_count = 0;
  const aclopAttr* attributes = nullptr;
};

// The model's bytes in `model`. An operator that CANN and ONNX know under different names or with different
// attributes is translated; any other keeps its name and attributes, and ONNX Runtime says whether it knows
// it. Fails with ACL_ERROR_OP_ATTR_NOT_MATCH, ACL_ERROR_OP_INPUT_NOT_MATCH or
// ACL_ERROR_UNSUPPORTED_DATA_TYPE.
aclError make_op_model(const OpCall& call, std::string& model);

}  // namespace opdump::acl
