#include "runtime.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "failure.h"

namespace opdump::onnx {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Where tools/fetch_onnxruntime.sh puts the library of the npm package. Empty without a home.
std::string cached_library() {
  std::string cache = environment("XDG_CACHE_HOME");
  if (cache.empty() && !environment("HOME").empty()) cache = environment("HOME") + "/.cache";
  return cache.empty() ? ""
                       : cache + "/opdump/onnxruntime/" OPDUMP_ONNXRUNTIME_VERSION "/libonnxruntime.so.1";
}

std::vector<std::string> places() {
  if (const std::string set = environment("OPDUMP_ONNXRUNTIME"); !set.empty()) return {set};
  std::vector<std::string> found{"libonnxruntime.so.1", "libonnxruntime.so"};
  if (const std::string cached = cached_library(); !cached.empty()) found.push_back(cached);
  return found;
}

[[noreturn]] void refuse(const std::vector<std::string>& tried, const std::string& last_error) {
  std::string message = "ONNX Runtime not found: ";
  if (tried.size() == 1) {
    message += "OPDUMP_ONNXRUNTIME is " + tried[0] + ": " + last_error;
  } else {
    message += "tried";
    for (const std::string& place : tried) message += " " + place;
    message +=
        ". Install a package with libonnxruntime.so, run tools/fetch_onnxruntime.sh (it downloads the "
        "library from npm), or set OPDUMP_ONNXRUNTIME to the path of one of release 1.17 or later";
  }
  throw Failure(message, OPDUMP_ERROR_IO);
}

}  // namespace

const Runtime& Runtime::load() {
  static const Runtime* const loaded = [] {
    const std::vector<std::string> tried = places();
    std::string last_error;
    for (const std::string& place : tried) {
      // A path that is not there is no reason to complain of a place that was only tried.
      if (void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return new Runtime(library, place);
      if (const char* text = ::dlerror()) last_error = text;
    }
    refuse(tried, last_error);
  }();
  return *loaded;
}

Runtime::Runtime(void* library, const std::string& path) {
  using GetBase = const ort::Base* (*)();
  const auto get_base = reinterpret_cast<GetBase>(::dlsym(library, "OrtGetApiBase"));
  if (!get_base) throw Failure(path + " is not ONNX Runtime: it has no OrtGetApiBase", OPDUMP_ERROR_IO);
  const ort::Base* base = get_base();
  version_ = base->GetVersionString();
  const void* const* table = base->GetApi(ort::kApiVersion);
  if (!table)
    throw Failure(path + " is ONNX Runtime " + version_ + "; release 1.17 or later is needed",
                  OPDUMP_ERROR_IO);
#define OPDUMP_ORT_PICK(place, result, name, parameters) \
  call_.name = reinterpret_cast<decltype(call_.name)>(const_cast<void*>(table[place]));
  OPDUMP_ORT_FUNCTIONS(OPDUMP_ORT_PICK)
#undef OPDUMP_ORT_PICK
  ort::Env* env = nullptr;
  // Errors come back as text; written to stderr as well they would be said twice.
  check(call_.CreateEnv(ort::kFatal, "opdump", &env), "ONNX Runtime");
  env_ = {env, call_.ReleaseEnv};
  ort::MemoryInfo* memory = nullptr;
  check(call_.CreateCpuMemoryInfo(ort::kArenaAllocator, ort::kDefaultMemory, &memory), "ONNX Runtime");
  memory_ = {memory, call_.ReleaseMemoryInfo};
  check(call_.GetAllocatorWithDefaultOptions(&allocator_), "ONNX Runtime");
}

std::string Runtime::take_text(ort::Status* status) const {
  if (!status) return {};
  std::string text = call_.GetErrorMessage(status);
  call_.ReleaseStatus(status);
  return text.empty() ? "ONNX Runtime gives no reason" : text;
}

void Runtime::check(ort::Status* status, const std::string& what) const {
  if (std::string text = take_text(status); !text.empty()) throw Failure(what + ": " + text);
}

}  // namespace opdump::onnx
