// A loaded model that runs and passes the inputs and outputs of its operators to the recorder.
//
// The outputs of selected operators become outputs of the model, and ONNX Runtime runs it without its
// optimizations, so that every operator of the file is executed. If the outputs are large, the model is cut
// into parts that run one after the other. The values of one part are written while the next one runs, so
// that values beyond the memory limit are never in memory together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "blocked.h"
#include "engine.h"
#include "failure.h"
#include "fused.h"
#include "initializers.h"
#include "model_file.h"
#include "opdump/opdump.h"
#include "parts.h"

namespace opdump::onnx {

struct NetworkOptions {
  std::filesystem::path folder;  // of external data
  std::string file_name;         // of the model, without folder and suffix; empty: it came from memory
  std::string operator_type;     // in the dump; empty: that of each operator
  bool as_executed = false;      // the graph that ONNX Runtime makes of the model
  std::int64_t graph_id = 0;
  unsigned threads = 0;
  std::uint64_t memory_limit_bytes = std::uint64_t{1} << 30;
  std::function<void(int level, const std::string& line)> log;
};

class Network {
 public:
  // Throws Failure: what read_model() refuses, or ONNX Runtime.
  Network(std::string bytes, NetworkOptions options);

  const ModelFile& file() const { return model_; }

  // The number of the operator `name`, if there is one.
  std::optional<std::size_t> find_node(std::string_view name) const;

  // The task of the first operator; 0: the recorder counts.
  void number_tasks(std::uint64_t first) { first_task_ = first; }

  // What is known of a value before anything runs. Throws Failure.
  ExpectedOutput find_type(std::string_view value);

  // Of the last run.
  std::optional<std::size_t> failed_node() const { return failed_; }

  // Of a graph as executed: the operators of the file that operator `node` stands for.
  std::span<const std::string> original_names(std::size_t node) const;

  // Runs with `inputs`, in the order of file().inputs. Records into `session`, which may be null. Returns the
  // model's outputs. Throws Failure; if an operator failed, its text begins with the operator, which is
  // recorded as failed.
  std::vector<Tensor> run(opdump_session* session, std::span<const Tensor> inputs);

 private:
  using Values = std::unordered_map<std::string_view, Tensor>;
  // The task of a run: the operators to record, first <= i < end, and the values needed at its end.
  struct Work {
    opdump_session* session = nullptr;
    std::vector<int> wants;  // bits of opdump_want, for each operator
    std::size_t first = 0, end = 0;
    std::vector<std::string_view> keep;
    bool has(std::size_t index, int want) const { return (wants[index] & want) != 0; }
    bool keeps(std::string_view name) const { return std::ranges::find(keep, name) != keep.end(); }
  };

  void adopt(std::string bytes, std::filesystem::path folder);
  std::string rewrite(ort::OptimizationLevel level);
  void inline_functions();
  void take_optimized();
  const Tensor& constant(std::size_t initializer);
  EngineOptions engine_options(std::span<const std::string_view> initializers);
  const Engine& find_engine(std::span<const std::string_view> values);
  Values begin_values(std::span<const Tensor> inputs) const;
  void define(opdump_session* session);
  Work all_work(opdump_session* session);
  std::vector<std::string_view> find_needed(const Work& work) const;
  bool is_planned(const Work& work, std::span<const Tensor> inputs) const;
  void plan(const Work& work, std::span<const Tensor> inputs);
  void cut(const Work& work, std::span<const std::string_view> needed, std::span<const Tensor> inputs);
  std::unique_ptr<Engine> make_engine(const ModelPart& part);
  void run_all(Work& work, std::span<const Tensor> inputs, Values& values);
  void run_whole(const Work& work, std::span<const Tensor> inputs, Values& values);
  void run_part(std::size_t index, Values& values);
  void let_go(std::size_t index, const Work& work, Values& values);
  std::vector<Tensor> run_ancestors(std::size_t node_end, std::span<const std::string_view> outputs,
                                    std::span<const Tensor> inputs);
  void report_until(std::size_t end, Work& work, const Values& values);
  void report(const Work& work, std::size_t index, const Values& values, bool failed);
  const std::pair<const std::string, std::uint64_t>& number_of(std::string_view name);
  void note_blocked(const ModelFile& optimized, const std::vector<std::vector<std::string>>& names);
  void note_own_blocks();
  std::vector<ExpectedOutput> find_types(std::span<const std::string_view> values);
  void unblock(const Tensor& tensor, const Blocking& blocking, opdump_tensor& result);
  opdump_tensor describe(std::string_view name, std::uint32_t index, const Values& values);
  std::size_t find_failing(std::size_t first, std::span<const Tensor> inputs);
  [[noreturn]] void tell_failing(Work work, std::span<const Tensor> inputs, const Failure& failure);
  std::vector<Tensor> take_outputs(Values& values);

  const Runtime& runtime_;
  NetworkOptions options_;
  std::mutex mutex_;  // one run at a time; guards the rest
  std::string bytes_;
  ModelFile model_;
  std::vector<std::vector<std::string>> original_names_;  // of as_executed, for each operator
  Blockings blocked_;
  std::size_t block_ = 0;          // channels in one
  std::deque<Restored> restored_;  // those of the operator that is being reported
  std::vector<std::string> input_names_;
  std::unique_ptr<Initializers> initializers_;
  std::map<std::size_t, Tensor> constants_;
  // How the model is run for what is wanted and given.
  struct Plan {
    std::vector<int> wants;
    std::vector<std::vector<std::int64_t>> dims;        // of the inputs
    std::vector<ModelPart> parts;                       // none: it runs as a whole
    std::map<std::string_view, std::size_t> last_part;  // that is fed a value
    std::map<std::string, int, std::less<>> types;      // element types of what parts make
    bool returns_memory = false;
    std::vector<std::unique_ptr<Engine>> engines;  // of the first parts; others are made for each run
  };
  Plan plan_;
  std::unique_ptr<Engine> engine_;          // of the whole model
  std::vector<std::string> engine_values_;  // that engine_ gives
  std::vector<ExpectedOutput> expected_;    // of engine_
  bool reported_parts_ = false;
  std::uint64_t first_task_ = 0;
  std::optional<std::size_t> failed_;
  std::vector<const opdump_op*> operators_;
  std::map<std::string, std::uint64_t, std::less<>>
      numbers_;  // of values in the graph; their names live here
};

}  // namespace opdump::onnx
