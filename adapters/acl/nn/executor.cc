#include "nn/executor.h"

#include <aclnn/aclnn_base.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <span>

#include "dump_control.h"
#include "failure.h"
#include "model.h"
#include "op_models.h"
#include "opdump/opdump_onnxruntime.h"
#include "runtime.h"

namespace opdump::acl::nn {
namespace {

// Executors that the program has. Anything else that it passes as one is refused.
class Executors {
 public:
  static Executors& instance() {
    static auto* table = new Executors;  // never destroyed: threads may outlive static objects
    return *table;
  }
  void add(aclOpExecutor* executor) {
    const std::lock_guard lock(mutex_);
    live_.insert(executor);
  }
  bool has(aclOpExecutor* executor) {
    const std::lock_guard lock(mutex_);
    return live_.contains(executor);
  }
  bool remove(aclOpExecutor* executor) {
    const std::lock_guard lock(mutex_);
    return live_.erase(executor) > 0;
  }

 private:
  std::mutex mutex_;  // guards the rest
  std::set<aclOpExecutor*> live_;
};

opdump_tensor to_tensor(const aclTensor& tensor, std::size_t index) {
  opdump_tensor made{};
  made.size = sizeof made;
  made.dtype = data_type(tensor.type).ours;
  made.rank = static_cast<std::uint32_t>(tensor.dims.size());
  made.index = static_cast<std::uint32_t>(index);
  made.shape = tensor.dims.data();
  made.strides = tensor.strides.data();
  made.data = first_element(tensor);
  made.format = tensor.format < 0 ? 0 : static_cast<std::uint32_t>(tensor.format) + 1;
  return made;
}

std::vector<opdump_tensor> to_tensors(std::span<const aclOpExecutor::Parameter> parameters) {
  std::vector<opdump_tensor> made;
  for (const aclOpExecutor::Parameter& parameter : parameters)
    for (const aclTensor& tensor : parameter.tensors) made.push_back(to_tensor(tensor, made.size()));
  return made;
}

// Row-major inputs of the model; `copies` has those of views.
std::vector<opdump_tensor> feed(const aclOpExecutor& call, std::vector<std::vector<unsigned char>>& copies) {
  std::vector<opdump_tensor> in;
  for (const aclOpExecutor::Feed& input : call.feeds) {
    opdump_tensor made{};
    if (input.is_scalar) {
      made.size = sizeof made;
      made.dtype = data_type(input.scalar.type).ours;
      made.data = input.scalar.value;
    } else {
      const aclTensor& tensor = call.reads[input.parameter].tensors[input.index];
      made = to_tensor(tensor, 0);
      if (!is_row_major(tensor)) {
        auto& copy = copies.emplace_back(static_cast<std::size_t>(element_count(tensor)) *
                                         aclDataTypeSize(tensor.type));
        gather(tensor, copy.data());
        made.data = copy.data();
      }
      made.strides = nullptr;
    }
    in.push_back(made);
  }
  return in;
}

aclnnStatus compute(const aclOpExecutor& call) {
  std::vector<std::vector<unsigned char>> copies;
  const std::vector<opdump_tensor> in = feed(call, copies);
  std::vector<const aclTensor*> results;
  for (const aclOpExecutor::Parameter& parameter : call.writes)
    for (const aclTensor& tensor : parameter.tensors) results.push_back(&tensor);
  std::vector<opdump_tensor> out(results.size());
  for (opdump_tensor& tensor : out) tensor.size = sizeof tensor;
  OpModels& models = OpModels::instance();
  const std::lock_guard lock(models.mutex);
  opdump_onnx_model* model = nullptr;
  if (models.find(call.model, call.api, &model) != ACL_SUCCESS ||
      opdump_onnx_run(model, nullptr, in.data(), in.size(), out.data(), out.size()) != OPDUMP_OK)
    return fail(kRuntime, call.api + " failed: " + opdump_onnx_last_error());
  for (std::size_t i = 0; i < out.size(); ++i)
    scatter(static_cast<const unsigned char*>(out[i].data), *results[i]);
  return ACL_SUCCESS;
}

// Runs the call and records it as CANN does the calls of this interface: the type is the function with the
// number of the call, the name is the function.
aclnnStatus compute_and_record(const aclOpExecutor& call, Dump& dump) {
  return dump.with_session(current_device(), [&](opdump_session* session) {
    opdump_op_info info{};
    const std::string type = call.api + "_" + std::to_string(call.number) + "_L2";
    info.size = sizeof info;
    info.type = type.c_str();
    info.name = call.api.c_str();
    info.graph_id = OPDUMP_NO_GRAPH;
    info.task = take_tasks(1);
    const opdump_op* op = dump.skips(session, call.api) ? nullptr : opdump_define(session, &info);
    if ((opdump_wants(session, op) & OPDUMP_WANTS_CALL) == 0) {
      dump.skip(session, call.api);
      return compute(call);
    }
    const std::vector<opdump_tensor> in = to_tensors(call.reads), out = to_tensors(call.writes);
    opdump_call* recorded = opdump_begin(session, op, in.data(), in.size());
    const aclnnStatus code = compute(call);
    opdump_end(session, recorded, out.data(), code == ACL_SUCCESS ? out.size() : 0, code != ACL_SUCCESS);
    return code;
  });
}

aclnnStatus refuse_executor(const std::string& function) {
  return fail(kNoObject,
              "EP0006: " + function + ": executor is NULL, or was executed already and is not repeatable");
}

aclnnStatus set_address(const char* function, aclOpExecutor* executor, std::size_t parameter,
                        std::size_t index, std::vector<aclOpExecutor::Parameter>* parameters, void* address) {
  if (!Executors::instance().has(executor)) return refuse_executor(function);
  if (!address) return fail(kNull, std::string("EP0007: ") + function + ": addr is NULL");
  if (parameter >= parameters->size() || index >= (*parameters)[parameter].tensors.size())
    return fail(kInvalid, std::string("EP0006: ") + function + ": " + executor->api + " has no tensor " +
                              std::to_string(parameter) + "." + std::to_string(index));
  (*parameters)[parameter].tensors[index].data = address;
  return ACL_SUCCESS;
}

// Of the tensors read and written, in this order.
aclnnStatus set_any_address(const char* function, aclOpExecutor* executor, std::size_t parameter,
                            std::size_t index, void* address) {
  if (!Executors::instance().has(executor)) return refuse_executor(function);
  const std::size_t reads = executor->reads.size();
  const bool is_read = parameter < reads;
  return set_address(function, executor, is_read ? parameter : parameter - reads, index,
                     is_read ? &executor->reads : &executor->writes, address);
}

bool began_here = false;  // by aclnnInit

}  // namespace

void publish(aclOpExecutor call, aclOpExecutor** executor) {
  auto made = std::make_unique<aclOpExecutor>(std::move(call));
  Executors::instance().add(made.get());
  *executor = made.release();
}

aclnnStatus execute(const char* api, aclOpExecutor* executor) noexcept {
  return guarded([&] {
    Executors& executors = Executors::instance();
    if (!executors.has(executor)) return refuse_executor(api);
    if (executor->api != api)
      return fail(kInvalid, std::string("EP0006: ") + api + ": the executor is one of " + executor->api);
    std::unique_ptr<aclOpExecutor> last;
    if (!executor->is_repeatable && executors.remove(executor)) last.reset(executor);
    const auto dump = DumpControl::instance().current();
    return dump ? compute_and_record(*executor, *dump) : compute(*executor);
  });
}

}  // namespace opdump::acl::nn

using opdump::acl::DumpControl;
using opdump::acl::guarded;
using opdump::acl::nn::Executors;
using opdump::acl::nn::refuse_executor;
using opdump::acl::nn::set_address;
using opdump::acl::nn::set_any_address;

aclnnStatus aclnnInit(const char* path) {
  return guarded([&] {
    if (DumpControl::instance().is_initialised()) return ACL_SUCCESS;
    const aclError code = DumpControl::instance().initialise(path);
    opdump::acl::nn::began_here = code == ACL_SUCCESS;
    return code;
  });
}

aclnnStatus aclnnFinalize(void) {
  return guarded([] {
    if (!std::exchange(opdump::acl::nn::began_here, false)) return ACL_SUCCESS;
    return DumpControl::instance().finalise();
  });
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  if (!Executors::instance().has(executor)) return refuse_executor("aclSetAclOpExecutorRepeatable");
  executor->is_repeatable = true;
  return ACL_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  if (!Executors::instance().remove(executor)) return refuse_executor("aclDestroyAclOpExecutor");
  delete executor;
  return ACL_SUCCESS;
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor*, void* address) {
  return set_address("aclSetInputTensorAddr", executor, index, 0, executor ? &executor->reads : nullptr,
                     address);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor*, void* address) {
  return set_address("aclSetOutputTensorAddr", executor, index, 0, executor ? &executor->writes : nullptr,
                     address);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor*, void* address) {
  return set_any_address("aclSetTensorAddr", executor, index, 0, address);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t parameter, const size_t index,
                                         aclTensorList*, void* address) {
  return set_address("aclSetDynamicInputTensorAddr", executor, parameter, index,
                     executor ? &executor->reads : nullptr, address);
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t parameter, const size_t index,
                                    aclTensorList*, void* address) {
  return set_any_address("aclSetDynamicTensorAddr", executor, parameter, index, address);
}
