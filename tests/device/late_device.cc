// A simulated accelerator for torch's extension device PrivateUse1. It has what makes accelerators hard to
// observe:
//   - The host cannot touch its memory. Tensors have addresses without any access rights; kernels use a
//   second mapping.
//   - Kernels run late, in the order of its stream, on another thread, after random delays.
//   - Freed memory is handed out again at once, as caching allocators do, and is filled with NaN in stream
//   order.
//   - Copies to pinned memory return before they are done; every other copy to the host makes the caller
//   wait.
//     Waits of the main thread are counted.
//   - Its stream can be captured into a graph. A copy to the host is then an error.
// Operators are those of the CPU, on shapes that torch's meta device computes.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
const c10::Device kFirst(kDevice, 0);

std::atomic<long> waits{0};
std::atomic<std::size_t> largest_copy{0};  // to the host, in bytes
void count_wait() {
  if (::getpid() == ::gettid()) ++waits;
}

// The stream: tasks in order, on a thread of its own. A captured one keeps them for replay().
class Worker {
 public:
  using Task = std::function<void()>;

  Worker() {
    const char* seed = std::getenv("LATE_SEED");
    random_.seed(seed ? std::atoi(seed) : 0);
    std::thread([this] { work(); }).detach();
  }

  void push(Task task) {
    const std::lock_guard lock(mutex_);
    if (capturing) return captured_.push_back(std::move(task));
    add(std::move(task));
  }

  // Never captured: it happens once, whoever replays what.
  void push_once(Task task) {
    const std::lock_guard lock(mutex_);
    add(std::move(task));
  }

  void wait_all() {
    count_wait();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tasks_.empty() && !is_busy_; });
  }

  void replay() {
    for (const Task& task : captured_) push(task);
  }

  std::atomic<bool> capturing{false};

 private:
  void add(Task task) {
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }

  void work() {
    const c10::InferenceMode any_tensor;  // those of the program's inference mode are written, too
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !tasks_.empty(); });
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      is_busy_ = true;
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 400));
      task();
      lock.lock();
      is_busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::vector<Task> captured_;
  bool is_busy_ = false;
  std::mt19937 random_;
};

Worker& worker() {
  static auto* one = new Worker;  // its thread outlives static objects
  return *one;
}

// Device memory: mapped twice, for tensors without access, for kernels with.
class Memory final : public c10::Allocator {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 30;

  Memory() {
    const int file = ::memfd_create("late", 0);
    TORCH_CHECK(file >= 0 && ::ftruncate(file, kBytes) == 0, "no memory for the device");
    front_ = static_cast<char*>(::mmap(nullptr, kBytes, PROT_NONE, MAP_SHARED, file, 0));
    back_ = static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    TORCH_CHECK(front_ != MAP_FAILED && back_ != MAP_FAILED, "no memory for the device");
    ::close(file);
  }

  // Where a kernel finds what a tensor has at `address`.
  void* inside(const void* address) const { return back_ + (static_cast<const char*>(address) - front_); }

  c10::DataPtr allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const std::size_t size = std::max<std::size_t>(64, std::bit_ceil(bytes));
    char* address = nullptr;
    if (auto& list = free_[size]; !list.empty()) {
      address = list.back();
      list.pop_back();
    } else {
      TORCH_CHECK(used_ + size <= kBytes, "the device has no memory left");
      address = front_ + used_;
      used_ += size;
    }
    sizes_[address] = size;
    return {address, address, &Memory::release, kFirst};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Memory::release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    worker().push([to = inside(to), from = inside(from), bytes] { std::memcpy(to, from, bytes); });
  }

 private:
  static void release(void* address);

  std::mutex mutex_;
  char *front_ = nullptr, *back_ = nullptr;
  std::size_t used_ = 0;
  std::map<std::size_t, std::vector<char*>> free_;
  std::unordered_map<void*, std::size_t> sizes_;
};

Memory& memory() {
  static auto* one = new Memory;
  return *one;
}

void Memory::release(void* address) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex_);
  const std::size_t size = all.sizes_.at(address);
  if (!worker().capturing)
    worker().push([inside = all.inside(address), size] { std::memset(inside, 0xFF, size); });
  all.free_[size].push_back(static_cast<char*>(address));
}

// Host memory that copies can go to while the host goes on. It is freed in stream order.
class Pinned final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* address = std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<char*>(address)] = bytes + 64;
    return {address, address, &Pinned::release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Pinned::release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  bool has(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto after = blocks_.upper_bound(static_cast<const char*>(address));
    if (after == blocks_.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return static_cast<const char*>(address) < begin + size;
  }

 private:
  static void release(void* address);
  std::mutex mutex_;
  std::map<const char*, std::size_t> blocks_;
};

Pinned& pinned() {
  static auto* one = new Pinned;
  return *one;
}

void Pinned::release(void* address) {
  {
    const std::lock_guard lock(pinned().mutex_);
    pinned().blocks_.erase(static_cast<char*>(address));
  }
  worker().push_once([address] { std::free(address); });
}

// A tensor as a kernel sees it. It does not keep the memory: a kernel that runs after that was freed is a
// bug.
at::Tensor inside(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kDevice) return tensor;
  return at::from_blob(
      memory().inside(tensor.mutable_data_ptr()), tensor.sizes(), tensor.strides(), [](void*) {},
      tensor.options().device(at::kCPU));
}

c10::IValue map_tensors(const c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& f) {
  if (value.isTensor()) return f(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& item : value.toTensorVector()) list.push_back(f(item));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& item : value.toOptionalTensorVector())
      list.push_back(item ? std::optional(f(*item)) : std::nullopt);
    return list;
  }
  return value;
}

void for_each_tensor(const c10::IValue& value, const std::function<void(const at::Tensor&)>& f) {
  map_tensors(value, [&](const at::Tensor& tensor) {
    f(tensor);
    return tensor;
  });
}

// Every operator without a kernel of its own.
void run_later(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  const std::size_t count = op.schema().arguments().size();
  const std::vector<c10::IValue> arguments(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
  torch::jit::drop(*stack, count);

  std::unordered_map<c10::TensorImpl*, at::Tensor> given;  // by their stand-ins
  std::vector<at::Tensor> alive;
  torch::jit::Stack shapes, inputs;
  for (const c10::IValue& argument : arguments) {
    const auto argument_device = argument.isDevice() ? c10::IValue(c10::Device(at::kMeta)) : argument;
    shapes.push_back(map_tensors(argument_device, [&](const at::Tensor& tensor) {
      if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
      at::Tensor meta =
          at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
      given[meta.unsafeGetTensorImpl()] = tensor;
      alive.push_back(meta);
      return meta;
    }));
    inputs.push_back(map_tensors(argument.isDevice() ? c10::IValue(c10::Device(at::kCPU)) : argument,
                                 [](const at::Tensor& tensor) {
                                   if (!tensor.defined() || tensor.device().type() == kDevice)
                                     return inside(tensor);
                                   at::Tensor copy = tensor.clone();
                                   if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
                                     copy.unsafeGetTensorImpl()->set_wrapped_number(true);
                                   return copy;
                                 }));
  }
  op.callBoxed(&shapes);
  std::vector<at::Tensor> outputs;  // as kernels see them; undefined: made by writing to an argument
  for (const c10::IValue& shape : shapes)
    stack->push_back(map_tensors(shape, [&](const at::Tensor& meta) {
      if (!meta.defined()) return outputs.emplace_back();
      if (const auto found = given.find(meta.unsafeGetTensorImpl()); found != given.end()) {
        outputs.emplace_back();
        return found->second;
      }
      at::Tensor made = at::empty_strided(meta.sizes(), meta.strides(), meta.options().device(kFirst));
      outputs.push_back(inside(made));
      return made;
    }));
  worker().push([op, inputs, outputs]() mutable {
    const at::AutoDispatchBelowADInplaceOrView guard;
    torch::jit::Stack results = inputs;
    op.callBoxed(&results);
    std::size_t index = 0;
    for (const c10::IValue& result : results)
      for_each_tensor(result, [&](const at::Tensor& tensor) {
        if (at::Tensor& output = outputs.at(index++); output.defined()) output.copy_(tensor);
      });
  });
}

at::Tensor make_empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                      std::optional<at::Device>, std::optional<bool>,
                      std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, &memory(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor make_empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                              std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                              std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, &memory(),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  if (to.device().type() == kDevice) {  // values of the host are those of now
    worker().push(
        [to = inside(to), from = from.is_cpu() ? from.clone() : inside(from)]() mutable { to.copy_(from); });
    return to;
  }
  TORCH_CHECK(!worker().capturing, "a copy to the host cannot be captured");
  largest_copy = std::max(largest_copy.load(), to.nbytes());
  const bool waits_for_it = !(non_blocking && pinned().has(to.const_data_ptr()));
  at::Tensor target = waits_for_it
                          ? to
                          : at::from_blob(
                                to.mutable_data_ptr(), to.sizes(), to.strides(), [](void*) {}, to.options());
  worker().push([target, from = inside(from)]() mutable { target.copy_(from); });
  if (waits_for_it) worker().wait_all();
  return to;
}

at::Scalar read_number(const at::Tensor& tensor) {
  at::Tensor host = at::empty({}, tensor.options().device(at::kCPU));
  copy_from(tensor, host, false);
  return host.item();
}

bool are_equal(const at::Tensor& a, const at::Tensor& b) { return at::equal(a.cpu(), b.cpu()); }

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_later>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", make_empty);
  m.impl("empty_strided", make_empty_strided);
  m.impl("_copy_from", copy_from);
  m.impl("_local_scalar_dense", read_number);
  m.impl("equal", are_equal);
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
}

// Events, streams and the rest that torch asks of a device.
struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_reached = false;
};
using EventBox = std::shared_ptr<Event>;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device) const override { return kFirst; }
  c10::Device getDevice() const override { return kFirst; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, kFirst); }
  c10::Stream getDefaultStream(c10::Device) const override {
    return c10::Stream(c10::Stream::DEFAULT, kFirst);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void synchronizeStream(const c10::Stream&) const override { worker().wait_all(); }
  void synchronizeDevice(const c10::DeviceIndex) const override { worker().wait_all(); }
  bool isStreamCapturing(const c10::Stream&) const override { return worker().capturing; }

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    auto* box = static_cast<EventBox*>(*event);
    if (!box) *event = box = new EventBox;
    *box = std::make_shared<Event>();
    worker().push([reached = *box] {
      const std::lock_guard lock(reached->mutex);
      reached->is_reached = true;
      reached->changed.notify_all();
    });
  }
  void block(void*, const c10::Stream&) const override {}  // there is one stream
  bool queryEvent(void* event) const override {
    const EventBox box = *static_cast<EventBox*>(event);
    const std::lock_guard lock(box->mutex);
    return box->is_reached;
  }
  void synchronizeEvent(void* event) const override {
    count_wait();
    const EventBox box = *static_cast<EventBox*>(event);
    std::unique_lock lock(box->mutex);
    box->changed.wait(lock, [&] { return box->is_reached; });
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<EventBox*>(event);
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  bool isPinnedPtr(const void* data) const override { return pinned().has(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned(); }
};

const bool is_registered = [] {
  c10::SetAllocator(kDevice, &memory());
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace

extern "C" {
__attribute__((visibility("default"))) long late_waits() { return waits; }
__attribute__((visibility("default"))) long late_largest_copy() {
  return static_cast<long>(largest_copy.load());
}
__attribute__((visibility("default"))) void late_capture(int on) { worker().capturing = on != 0; }
__attribute__((visibility("default"))) void late_replay() { worker().replay(); }
__attribute__((visibility("default"))) void late_synchronize() { worker().wait_all(); }
}
