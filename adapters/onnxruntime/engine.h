// One inference session of ONNX Runtime, with its input and output values.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_file.h"
#include "opdump/opdump.h"
#include "runtime.h"

namespace opdump::onnx {

// A value that ONNX Runtime made, alive while somebody holds it: us, or the recorder that writes it to a
// file. The recorder's retain and release are add() and drop().
class Held {
 public:
  explicit Held(Handle<ort::Value> value) : value_(std::move(value)) {}
  ort::Value* get() const { return value_.get(); }
  void add() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~Held() = default;
  Handle<ort::Value> value_;
  std::atomic<int> holders_{1};
};

struct HeldDrop {
  void operator()(Held* held) const { held->drop(); }
};

// A tensor, or what stands for it.
struct Tensor {
  std::uint32_t dtype = OPDUMP_DTYPE_UNDEFINED;
  int element_type = 0;  // its ONNX number
  std::vector<std::int64_t> dims;
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  const char* undumped = nullptr;  // why it has no data: "string", "not a tensor"
  std::uint64_t content = 0;
  std::unique_ptr<Held, HeldDrop> held;  // none for inputs and constants
};

// What is known of an output before anything runs.
struct ExpectedOutput {
  std::string name;
  bool is_tensor = false;
  int element_type = 0;
  std::vector<std::int64_t> dims;      // -1: not known
  std::vector<std::string> dim_names;  // "batch" of a dimension that is not known but has a name
};

// A new, unused content number (opdump_tensor.content).
std::uint64_t next_content();

struct EngineOptions {
  unsigned threads = 0;  // 0: as many as ONNX Runtime likes
  ort::OptimizationLevel level = ort::kNone;
  std::string save_optimized;   // a path
  bool returns_memory = false;  // to the system, between runs
  bool rests = false;           // between runs: its threads let others work at once
  // Initializers that lie in other files.
  std::vector<std::string> external_names;
  std::vector<const Tensor*> external;
};

class Engine {
 public:
  // Throws Failure: ONNX Runtime does not accept the model.
  Engine(const Runtime& runtime, std::string_view model, const EngineOptions& options);

  std::vector<ExpectedOutput> find_outputs() const;

  // Runs with `inputs` and returns the values `outputs`, in this order. Throws Failure.
  std::vector<Tensor> run(std::span<const std::string> input_names, std::span<const Tensor* const> inputs,
                          std::span<const std::string> outputs) const;

 private:
  const Runtime& runtime_;
  Handle<ort::Session> session_;
};

}  // namespace opdump::onnx
