// The part of acl_mdl.h on models with open dimensions.
#include <acl/acl_mdl.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "failure.h"
#include "model_objects.h"

using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::Gears;
using opdump::acl::guarded;
using opdump::acl::Model;
using opdump::acl::ModelTable;
using opdump::acl::Port;

namespace {

// Sets the open dimensions of a model's inputs to what `value_of` says for each (input, axis). On an error
// those that were set before stay.
aclError set_open_dims(
    std::uint32_t id, aclmdlDataset* dataset,
    const std::function<std::optional<std::int64_t>(const Port&, std::size_t axis)>& value_of) {
  if (!dataset) return fail_null("open dimensions", "dataset");
  const std::shared_ptr<Model> model = ModelTable::instance().find(id);
  if (!model) return fail(ACL_ERROR_INVALID_MODEL_ID, "EP0006: there is no model " + std::to_string(id));
  if (!model->is_dynamic())
    return fail(ACL_ERROR_MODEL_NOT_DYNAMIC, "EP0006: the model has no open dimensions");
  std::vector<std::int64_t> open_dims;
  for (const Port& port : model->inputs())
    for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
      if (port.dims[axis] >= 0) continue;
      const auto value = value_of(port, axis);
      if (!value)
        return fail(ACL_ERROR_INVALID_PARAM, "EP0006: input " + port.name + ": dimension " +
                                                 std::to_string(axis) + " is open and not set by this call");
      open_dims.push_back(*value);
    }
  if (!model->gears().has(open_dims))
    return fail(ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID,
                "EP0006: the model was not made for these sizes, says " + model->gears().origin());
  dataset->open_dims = std::move(open_dims);
  return ACL_SUCCESS;
}

const Gears* find_gears(const char* function, const aclmdlDesc* desc, const void* to) {
  if (desc && desc->model && to) return &desc->model->gears();
  fail_null(function, desc && desc->model ? "the result" : "modelDesc");
  return nullptr;
}

}  // namespace

aclError aclmdlSetDynamicBatchSize(uint32_t id, aclmdlDataset* dataset, size_t, uint64_t batch) {
  return guarded([&] {
    return set_open_dims(id, dataset, [&](const Port&, std::size_t axis) -> std::optional<std::int64_t> {
      if (axis != 0) return std::nullopt;
      return static_cast<std::int64_t>(batch);
    });
  });
}

aclError aclmdlSetDynamicHWSize(uint32_t id, aclmdlDataset* dataset, size_t, uint64_t height,
                                uint64_t width) {
  return guarded([&] {
    return set_open_dims(id, dataset, [&](const Port& port, std::size_t axis) -> std::optional<std::int64_t> {
      if (port.dims.size() != 4 || axis < 2) return std::nullopt;
      return static_cast<std::int64_t>(axis == 2 ? height : width);
    });
  });
}

aclError aclmdlSetInputDynamicDims(uint32_t id, aclmdlDataset* dataset, size_t, const aclmdlIODims* dims) {
  if (!dims) return fail_null("aclmdlSetInputDynamicDims", "dims");
  return guarded([&] {
    const std::shared_ptr<Model> model = ModelTable::instance().find(id);
    return set_open_dims(id, dataset, [&](const Port& port, std::size_t axis) -> std::optional<std::int64_t> {
      std::size_t before = 0;  // all dimensions of all inputs are given, one after the other
      for (const Port& other : model->inputs()) {
        if (&other == &port) break;
        before += other.dims.size();
      }
      if (before + axis >= std::min<std::size_t>(dims->dimCount, ACL_MAX_DIM_CNT)) return std::nullopt;
      return dims->dims[before + axis];
    });
  });
}

aclError aclmdlGetDynamicBatch(const aclmdlDesc* desc, aclmdlBatch* batch) {
  const Gears* gears = find_gears("aclmdlGetDynamicBatch", desc, batch);
  if (!gears) return ACL_ERROR_INVALID_PARAM;
  *batch = {};
  if (gears->kind() != Gears::Kind::batch) return ACL_SUCCESS;
  for (const auto& choice : gears->texts())
    batch->batch[batch->batchCount++] = static_cast<std::uint64_t>(choice[0]);
  return ACL_SUCCESS;
}

aclError aclmdlGetDynamicHW(const aclmdlDesc* desc, size_t, aclmdlHW* hw) {
  const Gears* gears = find_gears("aclmdlGetDynamicHW", desc, hw);
  if (!gears) return ACL_ERROR_INVALID_PARAM;
  *hw = {};
  if (gears->kind() != Gears::Kind::image) return ACL_SUCCESS;
  for (const auto& choice : gears->texts()) {
    for (std::size_t i = 0; i < 2; ++i) hw->hw[hw->hwCount][i] = static_cast<std::uint64_t>(choice[i]);
    ++hw->hwCount;
  }
  return ACL_SUCCESS;
}

aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* desc, size_t, size_t* count) {
  const Gears* gears = find_gears("aclmdlGetInputDynamicGearCount", desc, count);
  if (!gears) return ACL_ERROR_INVALID_PARAM;
  *count = gears->kind() == Gears::Kind::dims ? gears->texts().size() : 0;
  return ACL_SUCCESS;
}

aclError aclmdlGetInputDynamicDims(const aclmdlDesc* desc, size_t, aclmdlIODims* dims, size_t count) {
  const Gears* gears = find_gears("aclmdlGetInputDynamicDims", desc, dims);
  if (!gears) return ACL_ERROR_INVALID_PARAM;
  const std::size_t known = gears->kind() == Gears::Kind::dims ? gears->texts().size() : 0;
  if (count < known)
    return fail(ACL_ERROR_INVALID_PARAM, "EP0006: aclmdlGetInputDynamicDims: gearCount is " +
                                             std::to_string(count) + "; the model has " +
                                             std::to_string(known));
  return guarded([&] {
    for (std::size_t i = 0; i < known; ++i) {
      const std::vector<std::int64_t> all = gears->input_dims(i);
      if (all.size() > ACL_MAX_DIM_CNT) return fail(ACL_ERROR_INVALID_PARAM, "more than 128 dimensions");
      dims[i] = {};
      dims[i].dimCount = all.size();
      std::ranges::copy(all, dims[i].dims);
    }
    return ACL_SUCCESS;
  });
}
