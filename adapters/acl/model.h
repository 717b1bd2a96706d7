// A loaded model, known to the program by its number.
#pragma once

#include <acl/acl_mdl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dump_control.h"
#include "gears.h"
#include "opdump/opdump_onnxruntime.h"

namespace opdump::acl {

// Numbers of tasks that nobody has yet, `count` of them; the first one. They identify operators over all
// models, in the names of dump files and in reports of failures.
std::uint64_t take_tasks(std::uint64_t count);

// A tensor of an execution: memory of the program.
struct Argument {
  void* data = nullptr;
  std::size_t size = 0;
  std::vector<std::int64_t> dims;
};

class Model {
 public:
  ~Model() { opdump_onnx_unload(onnx_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Loads the file, or `size` bytes at `data`, under the number `id` and the dump that is on. Fails with a
  // code.
  static aclError load(const char* path, const void* data, std::size_t size, std::uint32_t id,
                       std::shared_ptr<Model>& model);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  bool is_dynamic() const;
  const Gears& gears() const { return gears_; }

  // Runs once; fills the outputs' memory. Thread-safe.
  aclError execute(const std::vector<Argument>& inputs, const std::vector<Argument>& outputs);

  // The shape of an output as the last execution made it; of the model before the first one.
  std::vector<std::int64_t> current_dims(std::size_t output);

  // The operator that has this task; null if it is none of this model's.
  const char* find_operator(std::uint64_t task) const;

  // What the operator `op` reads, or writes, as far as it is known before it runs. Fails with
  // ACL_ERROR_GE_FAILURE.
  aclError describe(const char* op, bool outputs, std::vector<Port>& ports);

  // "[5]conv1[5]relu1"; null if there is no such operator.
  const char* original_names(const char* op);

 private:
  Model() = default;
  void number_tasks();
  void tell_failure(const char* op) const;

  std::uint64_t first_task_ = 0, task_count_ = 0;
  opdump_onnx_model* onnx_ = nullptr;
  std::shared_ptr<Dump> dump_;
  std::vector<Port> inputs_, outputs_;
  Gears gears_;
  std::mutex mutex_;  // guards the rest
  std::int64_t executions_ = 0;
  std::vector<std::vector<std::int64_t>> current_;
  std::map<std::string, std::string> texts_;  // that original_names() gave out
};

// The models of the process. Thread-safe.
class ModelTable {
 public:
  static ModelTable& instance();
  aclError load(const char* path, const void* data, std::size_t size, std::uint32_t* id);
  aclError unload(std::uint32_t id);
  // Null if there is none.
  std::shared_ptr<Model> find(std::uint32_t id);
  std::shared_ptr<Model> find_by_task(std::uint64_t task);

 private:
  std::mutex mutex_;  // guards the rest
  std::uint32_t next_id_ = 1;
  std::map<std::uint32_t, std::shared_ptr<Model>> models_;
};

}  // namespace opdump::acl
