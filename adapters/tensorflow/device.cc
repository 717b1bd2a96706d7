// The CPU as TensorFlow has it, which shows each kernel to the observer. It is registered with a higher
// priority than TensorFlow's own, before TensorFlow makes its devices.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tensorflow/core/common_runtime/device_factory.h>
#include <tensorflow/core/common_runtime/process_state.h>
#include <tensorflow/core/common_runtime/threadpool_device.h>
#include <tensorflow/core/public/session_options.h>
#include "blocks.h"
#include "door.h"
#include "observer.h"

namespace opdump::tensorflow_adapter {
namespace {

namespace tf = tensorflow;

constexpr int kPriority = 250;  // TensorFlow's are below 100

class NotingAllocator : public tf::AllocatorWrapper {
 public:
  using AllocatorWrapper::AllocatorWrapper;

  void* AllocateRaw(size_t alignment, size_t bytes) override {
    void* const memory = wrapped()->AllocateRaw(alignment, bytes);
    blocks().forget(memory);
    return memory;
  }
  void* AllocateRaw(size_t alignment, size_t bytes, const tf::AllocationAttributes& attributes) override {
    void* const memory = wrapped()->AllocateRaw(alignment, bytes, attributes);
    blocks().forget(memory);
    return memory;
  }
  void DeallocateRaw(void* memory) override {
    blocks().forget(memory);
    wrapped()->DeallocateRaw(memory);
  }
  void DeallocateRaw(void* memory, size_t alignment, size_t bytes) override {
    blocks().forget(memory);
    wrapped()->DeallocateRaw(memory, alignment, bytes);
  }
  std::optional<tf::AllocatorStats> GetStats() override { return wrapped()->GetStats(); }
  bool ClearStats() override { return wrapped()->ClearStats(); }
};

tf::Allocator* allocator_of(int numa_node) {
  tf::Allocator* const own = tf::ProcessState::singleton()->GetCPUAllocator(numa_node);
  return new NotingAllocator(own);  // never destroyed: tensors refer to it
}

class Device : public tf::ThreadPoolDevice {
 public:
  using ThreadPoolDevice::ThreadPoolDevice;

  void Compute(tf::OpKernel* kernel, tf::OpKernelContext* context) override {
    const Visit visit;
    Observer* const observer = visit.observer();
    if (!observer) return ThreadPoolDevice::Compute(kernel, context);
    const Execution execution = begin(*observer, *kernel, *context);
    ThreadPoolDevice::Compute(kernel, context);
    end(*observer, execution, *kernel, *context);
  }

  void ComputeAsync(tf::AsyncOpKernel* kernel, tf::OpKernelContext* context,
                    tf::AsyncOpKernel::DoneCallback done) override {
    auto visit = std::make_shared<Visit>();
    Observer* const observer = visit->observer();
    if (!observer) return ThreadPoolDevice::ComputeAsync(kernel, context, std::move(done));
    const Execution execution = begin(*observer, *kernel, *context);
    if (!execution.is_seen) return ThreadPoolDevice::ComputeAsync(kernel, context, std::move(done));
    ThreadPoolDevice::ComputeAsync(kernel, context,
                                   [=, visit = std::move(visit), done = std::move(done)]() mutable {
                                     end(*observer, execution, *kernel, *context);
                                     visit.reset();
                                     done();
                                   });
  }

 private:
  // A failure of ours ends the recording of this operator, never the operator.
  static Execution begin(Observer& observer, tf::OpKernel& kernel, tf::OpKernelContext& context) {
    try {
      return observer.begin(kernel, context);
    } catch (const std::exception& error) {
      opdump_report_unseen(observer.session(), "an operator", error.what());
      return {};
    }
  }
  static void end(Observer& observer, const Execution& execution, tf::OpKernel& kernel,
                  tf::OpKernelContext& context) {
    try {
      observer.end(execution, kernel, context);
    } catch (const std::exception& error) {
      opdump_report_unseen(observer.session(), "the outputs of an operator", error.what());
    }
  }
};

class Factory : public tf::DeviceFactory {
 public:
  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    devices->push_back("/physical_device:CPU:0");
    return absl::OkStatus();
  }

  absl::Status CreateDevices(const tf::SessionOptions& options, const std::string& prefix,
                             std::vector<std::unique_ptr<tf::Device>>* devices) override {
    const auto& counts = options.config.device_count();
    const auto wanted = counts.find("CPU");
    const int count = wanted == counts.end() ? 1 : wanted->second;
    const bool has_affinity = options.config.experimental().use_numa_affinity();
    for (int i = 0; i < count; ++i) {
      const int node = has_affinity ? i % tf::port::NUMANumNodes() : tf::port::kNUMANoAffinity;
      tf::DeviceLocality locality;
      if (has_affinity) locality.set_numa_node(node);
      devices->push_back(std::make_unique<Device>(options, prefix + "/device:CPU:" + std::to_string(i),
                                                  tf::Bytes(256 << 20), locality, allocator_of(node)));
    }
    return absl::OkStatus();
  }
};

REGISTER_LOCAL_DEVICE_FACTORY("CPU", Factory, kPriority);

}  // namespace
}  // namespace opdump::tensorflow_adapter
