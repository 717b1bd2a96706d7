// acl_rt.h on the CPU: device memory is memory, and what a stream is given is done when the call returns.
#include <acl/acl_rt.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "failure.h"
#include "runtime.h"

using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;

namespace {

constexpr std::int32_t kDeviceCount = 64;

struct Context {
  std::int32_t device = 0;
};
struct Event {
  std::chrono::steady_clock::time_point recorded{};
  bool is_recorded = false;
};
struct Stream {};

struct Callback {
  aclrtCallback function;
  void* data;
};

// The callbacks of a thread that waits for them.
struct Reports {
  std::deque<Callback> waiting;
  std::set<aclrtStream> streams;
};

class ReportTable {
 public:
  std::mutex mutex;  // guards the rest
  std::condition_variable arrived;
  std::map<std::uint64_t, Reports> threads;

  Reports* find(aclrtStream stream) {
    for (auto& [thread, reports] : threads)
      if (reports.streams.contains(stream)) return &reports;
    return nullptr;
  }
};

ReportTable& report_table() {
  static auto* table = new ReportTable;  // never destroyed: threads may outlive static objects
  return *table;
}

thread_local Context* current = nullptr;
thread_local std::int32_t device_of_thread = -1;

aclError check_device(const char* function, std::int32_t device) {
  if (device >= 0 && device < kDeviceCount) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_DEVICE, std::string("EP0006: ") + function + ": device " +
                                            std::to_string(device) + "; there are 0 to " +
                                            std::to_string(kDeviceCount - 1));
}

template <typename T>
aclError make(const char* function, const char* argument, void** to) {
  if (!to) return fail_null(function, argument);
  return guarded([&] {
    *to = new T;
    return ACL_SUCCESS;
  });
}

template <typename T>
aclError destroy(const char* function, const char* argument, void* object) {
  if (!object) return fail_null(function, argument);
  delete static_cast<T*>(object);
  return ACL_SUCCESS;
}

aclError allocate(const char* function, void** to, std::size_t size) {
  constexpr std::size_t kAlignment = 64;
  if (!to) return fail_null(function, "pointer");
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, std::string("EP0006: ") + function + ": size is 0");
  if (::posix_memalign(to, kAlignment, size) != 0)
    return fail(ACL_ERROR_BAD_ALLOC,
                std::string(function) + ": " + std::to_string(size) + " bytes cannot be allocated");
  return ACL_SUCCESS;
}

}  // namespace

namespace opdump::acl {

std::int32_t current_device() {
  return current ? current->device : device_of_thread < 0 ? 0 : device_of_thread;
}

}  // namespace opdump::acl

aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
  if (!major || !minor || !patch) return fail_null("aclrtGetVersion", "version");
  *major = 1;  // of the interface
  *minor = *patch = 0;
  return ACL_SUCCESS;
}

const char* aclrtGetSocName(void) { return "CPU"; }

aclError aclrtGetRunMode(aclrtRunMode* mode) {
  if (!mode) return fail_null("aclrtGetRunMode", "runMode");
  *mode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t device) {
  if (const aclError code = check_device("aclrtSetDevice", device); code != ACL_SUCCESS) return code;
  device_of_thread = device;
  current = nullptr;
  return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t device) {
  if (const aclError code = check_device("aclrtResetDevice", device); code != ACL_SUCCESS) return code;
  if (device_of_thread == device) device_of_thread = -1;
  return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t* device) {
  if (!device) return fail_null("aclrtGetDevice", "deviceId");
  if (!current && device_of_thread < 0)
    return fail(ACL_ERROR_RT_FAILURE, "EP0008: aclrtGetDevice before aclrtSetDevice");
  *device = opdump::acl::current_device();
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (!count) return fail_null("aclrtGetDeviceCount", "count");
  *count = kDeviceCount;
  return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t device) {
  if (const aclError code = check_device("aclrtCreateContext", device); code != ACL_SUCCESS) return code;
  const aclError code = make<Context>("aclrtCreateContext", "context", context);
  if (code != ACL_SUCCESS) return code;
  current = static_cast<Context*>(*context);
  current->device = device;
  return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
  if (context && context == current) current = nullptr;
  return destroy<Context>("aclrtDestroyContext", "context", context);
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  if (!context) return fail_null("aclrtSetCurrentContext", "context");
  current = static_cast<Context*>(context);
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  if (!context) return fail_null("aclrtGetCurrentContext", "context");
  if (!current) return fail(ACL_ERROR_RT_FAILURE, "EP0008: this thread has no context");
  *context = current;
  return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream* stream) {
  return make<Stream>("aclrtCreateStream", "stream", stream);
}
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return make<Stream>("aclrtCreateStreamWithConfig", "stream", stream);
}
aclError aclrtDestroyStream(aclrtStream stream) {
  return destroy<Stream>("aclrtDestroyStream", "stream", stream);
}
aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t) { return ACL_SUCCESS; }

aclError aclrtStreamQuery(aclrtStream, aclrtStreamStatus* status) {
  if (!status) return fail_null("aclrtStreamQuery", "status");
  *status = ACL_STREAM_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice(void) { return ACL_SUCCESS; }

aclError aclrtMalloc(void** pointer, size_t size, aclrtMemMallocPolicy) {
  return allocate("aclrtMalloc", pointer, size);
}
aclError aclrtMallocAlign32(void** pointer, size_t size, aclrtMemMallocPolicy) {
  return allocate("aclrtMallocAlign32", pointer, size);
}
aclError aclrtMallocHost(void** pointer, size_t size) { return allocate("aclrtMallocHost", pointer, size); }

aclError aclrtFree(void* pointer) {
  if (!pointer) return fail_null("aclrtFree", "devPtr");
  std::free(pointer);
  return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* pointer) {
  if (!pointer) return fail_null("aclrtFreeHost", "hostPtr");
  std::free(pointer);
  return ACL_SUCCESS;
}

aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t count, aclrtMemcpyKind) {
  if (!to || !from) return fail_null("aclrtMemcpy", to ? "src" : "dst");
  if (count > room)
    return fail(ACL_ERROR_INVALID_PARAM,
                "EP0006: aclrtMemcpy: " + std::to_string(count) + " bytes into " + std::to_string(room));
  std::memmove(to, from, count);
  return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t count, aclrtMemcpyKind kind,
                          aclrtStream) {
  return aclrtMemcpy(to, room, from, count, kind);
}

aclError aclrtMemset(void* pointer, size_t room, int32_t value, size_t count) {
  if (!pointer) return fail_null("aclrtMemset", "devPtr");
  if (count > room)
    return fail(ACL_ERROR_INVALID_PARAM,
                "EP0006: aclrtMemset: " + std::to_string(count) + " bytes of " + std::to_string(room));
  std::memset(pointer, value, count);
  return ACL_SUCCESS;
}

aclError aclrtMemsetAsync(void* pointer, size_t room, int32_t value, size_t count, aclrtStream) {
  return aclrtMemset(pointer, room, value, count);
}

aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t* available, size_t* total) {
  if (!available || !total) return fail_null("aclrtGetMemInfo", available ? "total" : "free");
  if (attribute < ACL_DDR_MEM || attribute > ACL_HBM_MEM_P2P_HUGE1G)
    return fail(ACL_ERROR_INVALID_PARAM,
                "EP0006: aclrtGetMemInfo: there is no attribute " + std::to_string(attribute));
  return guarded([&] {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    *total = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * page;
    *available = static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) * page;
    std::ifstream file("/proc/meminfo");  // also counts caches that the system would give up
    for (std::string name, line; file >> name && std::getline(file, line);)
      if (name == "MemAvailable:") *available = std::strtoull(line.c_str(), nullptr, 10) * 1024;
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateEvent(aclrtEvent* event) { return make<Event>("aclrtCreateEvent", "event", event); }
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) {
  return make<Event>("aclrtCreateEventWithFlag", "event", event);
}
aclError aclrtDestroyEvent(aclrtEvent event) { return destroy<Event>("aclrtDestroyEvent", "event", event); }

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream) {
  if (!event) return fail_null("aclrtRecordEvent", "event");
  *static_cast<Event*>(event) = {std::chrono::steady_clock::now(), true};
  return ACL_SUCCESS;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream) {
  if (!event) return fail_null("aclrtResetEvent", "event");
  *static_cast<Event*>(event) = {};
  return ACL_SUCCESS;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  if (!event || !status) return fail_null("aclrtQueryEvent", event ? "status" : "event");
  *status = static_cast<Event*>(event)->is_recorded ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  if (!event || !status) return fail_null("aclrtQueryEventStatus", event ? "status" : "event");
  *status = static_cast<Event*>(event)->is_recorded ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                                    : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return event ? ACL_SUCCESS : fail_null("aclrtSynchronizeEvent", "event");
}
aclError aclrtStreamWaitEvent(aclrtStream, aclrtEvent event) {
  return event ? ACL_SUCCESS : fail_null("aclrtStreamWaitEvent", "event");
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent first, aclrtEvent second) {
  if (!ms || !first || !second) return fail_null("aclrtEventElapsedTime", "ms or an event");
  const auto *begin = static_cast<Event*>(first), *end = static_cast<Event*>(second);
  if (!begin->is_recorded || !end->is_recorded)
    return fail(ACL_ERROR_INVALID_PARAM, "EP0008: aclrtEventElapsedTime: an event was not recorded");
  *ms = std::chrono::duration<float, std::milli>(end->recorded - begin->recorded).count();
  return ACL_SUCCESS;
}

aclError aclrtSubscribeReport(uint64_t thread, aclrtStream stream) {
  ReportTable& table = report_table();
  const std::lock_guard lock(table.mutex);
  if (table.find(stream)) return fail(ACL_ERROR_REPEAT_SUBSCRIBE, "EP0008: the stream has a thread already");
  table.threads[thread].streams.insert(stream);
  return ACL_SUCCESS;
}

aclError aclrtUnSubscribeReport(uint64_t thread, aclrtStream stream) {
  ReportTable& table = report_table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.threads.find(thread);
  if (found == table.threads.end())
    return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "EP0008: the thread has no stream");
  if (found->second.streams.erase(stream) == 0)
    return fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE, "EP0008: the stream is not the thread's");
  return ACL_SUCCESS;
}

aclError aclrtLaunchCallback(aclrtCallback function, void* data, aclrtCallbackBlockType, aclrtStream stream) {
  if (!function) return fail_null("aclrtLaunchCallback", "fn");
  ReportTable& table = report_table();
  const std::lock_guard lock(table.mutex);
  Reports* reports = table.find(stream);
  if (!reports) return fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE, "EP0008: no thread has subscribed to the stream");
  reports->waiting.push_back({function, data});
  table.arrived.notify_all();
  return ACL_SUCCESS;
}

aclError aclrtProcessReport(int32_t timeout) {
  if (timeout < -1) return fail(ACL_ERROR_INVALID_PARAM, "EP0006: aclrtProcessReport: timeout is below -1");
  ReportTable& table = report_table();
  std::unique_lock lock(table.mutex);
  const auto found = table.threads.find(static_cast<std::uint64_t>(::pthread_self()));
  if (found == table.threads.end())
    return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "EP0008: the thread has no stream");
  Reports& reports = found->second;
  const auto has_work = [&] { return !reports.waiting.empty(); };
  if (timeout < 0)
    table.arrived.wait(lock, has_work);
  else if (!table.arrived.wait_for(lock, std::chrono::milliseconds(timeout), has_work))
    return fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no callback came in " + std::to_string(timeout) + " ms");
  while (has_work()) {
    const Callback next = reports.waiting.front();
    reports.waiting.pop_front();
    lock.unlock();
    next.function(next.data);
    lock.lock();
  }
  return ACL_SUCCESS;
}
