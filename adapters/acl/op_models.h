// Single operators as ONNX models, loaded once: programs execute the same few over and over.
#pragma once

#include <acl/acl_base.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "opdump/opdump_onnxruntime.h"

namespace opdump::acl {

class OpModels {
 public:
  static OpModels& instance();

  std::mutex mutex;  // guards the rest, and the execution of what find() returns

  // The model of these bytes; `type` names it in messages and dumps. Fails with ACL_ERROR_PARSE_MODEL.
  aclError find(const std::string& bytes, const std::string& type, opdump_onnx_model** model);

 private:
  static constexpr std::size_t kMost = 256;
  struct Unload {
    void operator()(opdump_onnx_model* model) const { opdump_onnx_unload(model); }
  };
  std::map<std::string, std::unique_ptr<opdump_onnx_model, Unload>> models_;
};

}  // namespace opdump::acl
