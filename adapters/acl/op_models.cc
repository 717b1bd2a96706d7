#include "op_models.h"

#include "failure.h"
#include "model.h"

namespace opdump::acl {

OpModels& OpModels::instance() {
  static auto* models = new OpModels;  // never destroyed: threads may outlive static objects
  return *models;
}

aclError OpModels::find(const std::string& bytes, const std::string& type, opdump_onnx_model** model) {
  if (const auto known = models_.find(bytes); known != models_.end()) {
    *model = known->second.get();
    return ACL_SUCCESS;
  }
  opdump_onnx_options options{};
  options.size = sizeof options;
  options.path = type.c_str();
  options.data = bytes.data();
  options.byte_count = bytes.size();
  options.graph_id = OPDUMP_NO_GRAPH;
  options.operator_type = type.c_str();
  if (opdump_onnx_load(&options, model) != OPDUMP_OK)
    return fail(ACL_ERROR_PARSE_MODEL, opdump_onnx_last_error());
  opdump_onnx_number_tasks(*model, take_tasks(1));
  if (models_.size() >= kMost) models_.clear();
  models_[bytes].reset(*model);
  return ACL_SUCCESS;
}

}  // namespace opdump::acl
