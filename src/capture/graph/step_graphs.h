// The graphs of a session: what steps executed, and the parameters that entered them. An engine reports
// either the graph of each step of a program, or executions of models, each of which is a graph of its own.
//
//   begin -> returned -> end   for each call: logged by the GraphRecorder, parameters kept
//   end_step or end_model      the graph of the log, and the files that DUMP_GE_GRAPH asks for
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/call.h"
#include "capture/graph/graph_recorder.h"
#include "capture/operand.h"
#include "capture/operator_table.h"
#include "capture/recording_rules.h"
#include "capture/recording_state.h"
#include "dump/write/ge_graph_files.h"
#include "plan/dump_plan.h"

namespace opdump::capture {

// A weight or an input that enters a graph. It is written when the step ends.
struct Parameter {
  const char* name = nullptr;
  Operand operand;
  model::Shape strides;  // of the program's tensor
  KeepAlive keep_alive;
  std::vector<std::byte> copy;  // of memory that is not lent
};

// Thread-safe, but for what ends a step or model: one caller at a time.
class StepGraphs {
 public:
  struct Options {
    bool reports_steps = false;                      // else: the graphs of models
    std::optional<dump::GeGraphSettings> ge_graphs;  // what DUMP_GE_GRAPH asks for, if anything
    Lender lender;
    std::function<void(std::string_view what, std::string_view reason)> report_unseen;
  };
  // `operators` names the models.
  StepGraphs(const plan::DumpPlan& plan, Options options, const RecordingRules& rules,
             const RecordingState& state, const OperatorTable& operators);

  bool reports_steps() const { return options_.reports_steps; }
  // Names the program in graph files where no directory bears a name.
  void name_program(std::string name);
  // The values that a model gives, for engines that report no graphs.
  void define_outputs(std::int64_t graph_id, std::span<const std::uint64_t> values);
  // A copy of an operand's name that lives as long as this object.
  const char* keep_name(std::string_view name);

  void begin(Call& call, std::span<const Operand> inputs);
  void returned(Call& call, std::span<const Operand> outputs);
  void end(Call& call, std::span<const Operand> outputs);

  // The graph that the step under way is expected to be: that of the step before.
  std::int64_t expected_graph() const { return recorder_.expected_graph(); }
  // Those of the step under way, which has none any more.
  std::vector<Parameter> release_parameters();
  // Ends the step under way. Nothing if it executed no operator, or recording has stopped.
  std::optional<GraphRecorder::EndedStep> end_step(std::span<const Parameter> parameters);

  // An operator of this model begins: the execution of another one has ended. Not where steps are reported.
  void enter_model(std::int64_t model);
  void end_model();

 private:
  void log_call(Call& call, std::span<const Operand> outputs);
  bool keeps_parameters() const { return (options_.reports_steps && plan_.parameters) || ge_wants_weights_; }
  void keep_parameters(std::span<const Operand> operands, model::Side side);
  static bool is_renewed(const Parameter& known, const Operand& operand, model::Side side);
  bool keep_parameter(Parameter& parameter, const Operand& operand) const;
  std::vector<std::uint64_t> outputs_of(std::int64_t model);
  std::string directory_of(std::int64_t graph_id);
  void write_ge_graph(const GraphRecorder::EndedStep& ended, std::span<const Parameter> parameters);

  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;  // a text is looked up as it comes
  };

  const plan::DumpPlan& plan_;
  const Options options_;
  const RecordingRules& rules_;
  const RecordingState& state_;
  const OperatorTable& operators_;
  GraphRecorder recorder_;

  // Only the thread that ends a step or a model uses what follows.
  std::optional<dump::GeGraphWriter> ge_graphs_;  // nothing: nobody wants them
  bool ge_wants_weights_ = false;
  std::int64_t model_ = model::kAnyGraph;               // that is under way
  std::map<std::int64_t, std::size_t> written_models_;  // with the number of their operators

  std::mutex mutex_;                                                  // guards the rest
  std::unordered_set<std::string, TextHash, std::equal_to<>> names_;  // of operands
  std::unordered_map<const char*, std::size_t> seen_parameters_;      // indices in parameters_
  std::vector<Parameter> parameters_;                                 // of the step under way
  std::map<std::int64_t, std::vector<std::uint64_t>> model_outputs_;
  std::string program_name_;
};

}  // namespace opdump::capture
