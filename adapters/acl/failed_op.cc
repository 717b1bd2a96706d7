// What a program learns of an operator that failed: aclrtSetExceptionInfoCallback of acl_rt.h, and
// aclmdlCreateAndGetOpDesc of acl_mdl.h.
#include <acl/acl_mdl.h>
#include <acl/acl_rt.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base.h"
#include "failure.h"
#include "model.h"
#include "runtime.h"

using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;
using opdump::acl::ModelTable;
using opdump::acl::Port;

struct rtExceptionInfo {
  std::uint32_t task, stream, thread, device, code;
};

namespace {

std::atomic<aclrtExceptionInfoCallback> exception_callback{nullptr};

constexpr std::uint32_t kNone = 0xFFFFFFFF;

// The first of them, holding the others; null if there are none.
aclTensorDesc* make_descs(const std::vector<Port>& ports) {
  aclTensorDesc* first = nullptr;
  for (const Port& port : ports) {
    aclTensorDesc desc{port.type, port.format(), port.dims, port.name, {}};
    if (first)
      first->others.push_back(std::move(desc));
    else
      first = new aclTensorDesc(std::move(desc));
  }
  return first;
}

}  // namespace

void opdump::acl::call_exception_callback(std::uint64_t task, aclError code) {
  const aclrtExceptionInfoCallback callback = exception_callback;
  if (!callback) return;
  rtExceptionInfo info{static_cast<std::uint32_t>(task), 0, static_cast<std::uint32_t>(::gettid()),
                       static_cast<std::uint32_t>(current_device()), static_cast<std::uint32_t>(code)};
  callback(&info);
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  exception_callback = callback;
  return ACL_SUCCESS;
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) { return info ? info->task : kNone; }
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->stream : kNone;
}
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->thread : kNone;
}
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->device : kNone;
}
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->code : kNone;
}

aclError aclmdlCreateAndGetOpDesc(uint32_t, uint32_t stream, uint32_t task, char* name, size_t name_size,
                                  aclTensorDesc** inputs, size_t* input_count, aclTensorDesc** outputs,
                                  size_t* output_count) {
  if (!name || !inputs || !input_count || !outputs || !output_count)
    return fail_null("aclmdlCreateAndGetOpDesc", name ? "an argument" : "opName");
  return guarded([&] {
    const auto model = stream == 0 ? ModelTable::instance().find_by_task(task) : nullptr;
    if (!model)
      return fail(ACL_ERROR_INVALID_PARAM, "EP0006: no operator of a loaded model has task " +
                                               std::to_string(task) + " of stream " + std::to_string(stream));
    const std::string op = model->find_operator(task);
    if (op.size() >= name_size)
      return fail(ACL_ERROR_INVALID_PARAM, "EP0006: aclmdlCreateAndGetOpDesc: opNameLen is " +
                                               std::to_string(name_size) + "; the name needs " +
                                               std::to_string(op.size() + 1));
    std::vector<Port> in, out;
    if (const aclError code = model->describe(op.c_str(), false, in); code != ACL_SUCCESS) return code;
    if (const aclError code = model->describe(op.c_str(), true, out); code != ACL_SUCCESS) return code;
    std::memcpy(name, op.c_str(), op.size() + 1);
    *input_count = in.size();
    *output_count = out.size();
    *inputs = make_descs(in);
    *outputs = make_descs(out);
    return ACL_SUCCESS;
  });
}
