// A call of aclnnXxx between its two stages.
#pragma once

#include <string>
#include <vector>

#include "nn/objects.h"

struct aclOpExecutor {
  // An argument that is a tensor, or a list of them; an omitted one has none.
  struct Parameter {
    std::vector<aclTensor> tensors;
  };
  // An input of the model: a tensor that is read, or a scalar.
  struct Feed {
    std::size_t parameter = 0, index = 0;
    bool is_scalar = false;
    aclScalar scalar;
  };
  std::string api;  // "aclnnAdd"
  std::uint64_t number = 0;
  std::vector<Parameter> reads, writes;
  std::vector<Feed> feeds;
  std::string model;  // an ONNX model whose outputs are the tensors of `writes`
  bool is_repeatable = false;
};

namespace opdump::acl::nn {

// Takes over a call that is ready, and gives the program its executor.
void publish(aclOpExecutor call, aclOpExecutor** executor);

// The second stage of `api`.
aclnnStatus execute(const char* api, aclOpExecutor* executor) noexcept;

}  // namespace opdump::acl::nn
