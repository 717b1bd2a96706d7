// ONNX Runtime, loaded on first use. Search order:
//   OPDUMP_ONNXRUNTIME=/path/libonnxruntime.so, and nowhere else if it is set
//   the system's libonnxruntime.so
//   ${XDG_CACHE_HOME:-~/.cache}/opdump/onnxruntime/VERSION, where tools/fetch_onnxruntime.sh puts it
#pragma once

#include <memory>
#include <string>

#include "ort_api.h"

namespace opdump::onnx {

template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

class Runtime {
 public:
  // The library, one for the process; it is never unloaded. Throws Failure (OPDUMP_ERROR_IO) if there is
  // none, with what was tried and how to get one.
  static const Runtime& load();

  const ort::Functions& call() const { return call_; }
  const ort::Env* env() const { return env_.get(); }
  const ort::MemoryInfo* memory() const { return memory_.get(); }
  ort::Allocator* allocator() const { return allocator_; }
  const std::string& version() const { return version_; }

  // Throws Failure with ONNX Runtime's text, after `what`, if `status` says that something went wrong.
  void check(ort::Status* status, const std::string& what) const;
  // The text of a failed call, or nothing.
  std::string take_text(ort::Status* status) const;

 private:
  Runtime(void* library, const std::string& path);

  ort::Functions call_;
  std::string version_;
  Handle<ort::Env> env_{nullptr, nullptr};
  Handle<ort::MemoryInfo> memory_{nullptr, nullptr};
  ort::Allocator* allocator_ = nullptr;
};

}  // namespace opdump::onnx
