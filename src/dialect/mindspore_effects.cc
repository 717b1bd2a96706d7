// MindsporeCompiler: what one value does to others (mindspore.md 0, 1.7 to 1.10).
#include <utility>

#include "dialect/mindspore_compiler.h"

namespace opdump::dialect {

using plan::Content;
using plan::DebugMode;
using plan::Processor;
using plan::Sides;

// Right after op_debug_mode is known, because file_format and saved_data are checked against the outcome.
void MindsporeCompiler::adjust_for_debug_mode() {
  if (plan_.debug == DebugMode::none) return;
  if (dump_mode_ != 0) {
    warn(common_, "dump_mode", "dump_mode is read as 0, because op_debug_mode is not 0");
    plan_.operators = plan::OpSelector();
    plan_.only_flagged_operators = false;
  }
  if (plan_.debug != DebugMode::overflow) return;
  if (plan_.sides != Sides::both) {
    warn(common_, "input_output",
         "input_output is read as 0: inputs and outputs of an overflowing operator are saved");
    plan_.sides = Sides::both;
  }
  if (plan_.statistics_processor == Processor::device && !enable_) {
    warn(e2e_, "stat_calc_mode", "stat_calc_mode is read as host, because op_debug_mode is 3");
    plan_.statistics_processor = Processor::host;
  }
}

// Of an operator that fails, there are only inputs; it is never known beforehand which one it will be.
void MindsporeCompiler::adjust_for_exception() {
  if (plan_.debug != DebugMode::exception) return;
  // On CPU and GPU the original dumps the parameters as ever, and says that it does not support the rest.
  plan_.parameters = !on_ascend() && plan_.sides != Sides::inputs;
  if (strict_ && !on_ascend() && !plan_.parameters) {
    dump_nothing(common_.pointer("op_debug_mode"), "op_debug_mode 4 is only supported on Ascend");
    return;
  }
  if (!plan_.steps.is_all()) {
    warn(common_, "iteration", "iteration is read as \"all\", because op_debug_mode is 4");
    plan_.steps = plan::StepSet::all();
  }
  if (plan_.sample_count != 0) {
    warn(e2e_, "sample_mode", "sample_mode is read as 0, because op_debug_mode is 4");
    plan_.sample_count = 0;
  }
  if (plan_.content != Content::tensor) {
    warn(common_, "saved_data", "saved_data is read as \"tensor\", because op_debug_mode is 4");
    plan_.content = Content::tensor;
  }
  if (plan_.sides == Sides::outputs && strict_ && !plan_.parameters) {
    dump_nothing(common_.pointer("input_output"), "an operator that fails has no outputs");
    return;
  }
  if (plan_.sides == Sides::outputs)
    warn(common_, "input_output", "input_output is read as 1: an operator that fails has no outputs");
  plan_.sides = Sides::inputs;
}

void MindsporeCompiler::settle_place() {
  if (plan_.statistics_processor == Processor::host) return;
  const bool only_statistics = plan_.content == Content::statistics;
  if (only_statistics && mode_ == Mode::o0) return;
  warn(e2e_, "stat_calc_mode",
       only_statistics ? "stat_calc_mode is read as host: only Ascend O0 and O1 compute on the device"
                       : "stat_calc_mode is read as host, because saved_data is not \"statistic\"");
  plan_.statistics_processor = Processor::host;
}

void MindsporeCompiler::settle_mode() {
  switch (mode_) {
    case Mode::automatic:  // replaced by the constructor
    case Mode::o0:
      settle_kernel_by_kernel();
      break;
    case Mode::o2:
    case Mode::ge:
      settle_offline();
      break;
    case Mode::cpu:
    case Mode::gpu:
      settle_host();
      break;
  }
}

void MindsporeCompiler::settle_kernel_by_kernel() {
  plan_.synchronous = enable_;
  plan_.graphs = true;
  if (!e2e_.present())
    warnings_.add("", "e2e_dump_settings is missing; the original would not dump kernel by kernel");
  if (plan_.operator_arguments && !enable_) {
    warn(e2e_, "save_kernel_args", "save_kernel_args has no effect unless enable is true");
    plan_.operator_arguments = false;
  }
}

void MindsporeCompiler::settle_offline() {
  plan_.scheme = mode_ == Mode::ge ? plan::SchemeKind::time_tree : plan::SchemeKind::model_tree;
  // The raw container holds the device's bytes; .npy files are for people.
  plan_.default_format = plan_.file_format == plan::FileFormat::npy;
  plan_.synchronous = false;
  plan_.operator_arguments = false;
  plan_.sample_count = 0;
  if (!e2e_.present()) return;
  if (strict_)
    dump_nothing("/e2e_dump_settings", "e2e_dump_settings is not for O2");
  else
    warnings_.add_at_key("/e2e_dump_settings", "e2e_dump_settings does not apply to O2 and is ignored");
}

void MindsporeCompiler::settle_host() {
  plan_.run_metadata = true;
  plan_.graphs = true;
  plan_.class_name_dtypes = mode_ == Mode::cpu;
  if (strict_) plan_.default_format = true;
  if (mode_ == Mode::cpu) plan_.devices.clear();
  if (plan_.sample_count != 0) {
    warn(e2e_, "sample_mode", "sample_mode has no effect on CPU and GPU");
    plan_.sample_count = 0;
  }
  if (strict_ && mode_ == Mode::cpu && plan_.debug == DebugMode::overflow) {
    warn(common_, "op_debug_mode", "op_debug_mode 3 has no effect on CPU; every operator is dumped");
    plan_.debug = DebugMode::none;
  }
  // Parameters count as outputs.
  plan_.parameters |= plan_.sides != Sides::inputs && plan_.debug == DebugMode::none;
  plan_.input_parameters = mode_ == Mode::cpu;
}

void MindsporeCompiler::dump_nothing(std::string_view pointer, const std::string& why) {
  warnings_.add(pointer, why + "; nothing will be dumped");
  nothing_ = true;
}

}  // namespace opdump::dialect
