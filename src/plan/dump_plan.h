// Everything a user can request, independent of the configuration language. Each dialect compiles to a
// plan; `opdump plan` prints it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/format.h"
#include "plan/model_selector.h"
#include "plan/op_selector.h"
#include "plan/step_set.h"

namespace opdump::plan {

enum class Content : std::uint8_t { tensor, statistics, both };
enum class Sides : std::uint8_t { both, inputs, outputs };
enum class DebugMode : std::uint8_t { none, overflow, exception };
enum class FileFormat : std::uint8_t { npy, bin };
enum class Processor : std::uint8_t { host, device };
enum class Precision : std::uint8_t { high, low };

// The columns of statistic.csv in the original's order of documentation.
enum class Statistic : std::uint8_t {
  max,
  min,
  avg,
  count,
  negative_count,
  positive_count,
  nan_count,
  negative_inf_count,
  positive_inf_count,
  zero_count,
  md5,
  l2norm,
  sha1,
  xxh128
};

struct StatisticInfo {
  Statistic statistic;
  std::string_view name;    // in a config: "negative zero count"
  std::string_view column;  // in a CSV header: "Negative Zero Count"
  bool on_device;           // the original can compute it on the device
};
// The row of each Statistic, in the order of the enum; behind them, other names.
const std::vector<StatisticInfo>& statistic_table();

// The statistics of a fingerprint, in the order in which readers show them.
const std::vector<Statistic>& fingerprint_statistics();

// The directory scheme to write (dump/write/scheme_writer.h).
enum class SchemeKind : std::uint8_t {
  rank_tree,   // MindSpore (A): rank_R/net/graph/step
  model_tree,  // MindSpore (B), Ascend O2: step/time/device/model/id/step
  time_tree,   // MindSpore (C), graph engine: time/device/model/id/step
  acl_tree,    // CANN: time/device[/model/id/step], a file for each execution of an operator
};

// The operators that CANN dumps: those of models, those that a program executes individually, or both.
enum class Level : std::uint8_t { all, models, single_operators };

// The records of operators that overflowed, cann.md 3.5.
enum class OverflowRecord : std::uint8_t { old_devices, new_devices };

// DumpPlan::budget_bytes: as much as the disk has free; or a fifth of that, and 10 GiB at most.
inline constexpr std::uint64_t kFreeSpace = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kFifthOfSpace = kFreeSpace - 1;

struct DumpPlan {
  bool is_empty = false;  // the configuration is valid and requests nothing: no session
  Content content = Content::tensor;
  Sides sides = Sides::both;
  DebugMode debug = DebugMode::none;
  bool only_flagged_operators = false;  // dump_mode 2: what set_dump() flagged
  StepSet steps = StepSet::all();
  OpSelector operators;
  ModelSelector models;  // by model and exact name, beside `operators`
  Level level = Level::all;
  std::vector<std::uint32_t> devices;  // device ids that dump; empty means all
  std::vector<Statistic> statistics{Statistic::max, Statistic::min,
                                    Statistic::l2norm};  // columns, user's order
  Processor statistics_processor = Processor::host;
  Precision statistics_precision = Precision::high;
  std::uint64_t sample_count = 0;    // keep only the first elements of larger tensors; 0 keeps all
  std::uint64_t overflow_limit = 0;  // overflowing operators to keep; 0 means all
  bool operator_arguments = false;   // save_kernel_args
  bool default_format = true;        // trans_flag: host layout (NCHW) rather than the device's
  // Memory layouts that tensors are converted to, the first one that fits each; empty: as they are.
  std::vector<model::Format> device_formats;
  OverflowRecord overflow_record = OverflowRecord::old_devices;
  bool parameters = false;         // also the weights that enter the graph
  bool input_parameters = false;   // and, if parameters, the user's inputs
  bool graphs = false;             // graph files and the order of execution
  bool run_metadata = false;       // .dump_metadata: a copy of the configuration and the kind of device
  bool class_name_dtypes = false;  // file names say "Float32" rather than "float32"
  bool synchronous = true;         // e2e enable: only reported; no effect here
  std::uint64_t initial_step = 0;
  std::optional<std::uint64_t> budget_bytes;  // the most that is written (dump/write/budget.h)
  // Only the last steps are kept, so many of them, until an operator makes a NaN or an infinity that nobody
  // asked for (capture/flight_recorder.h). 0: all steps are kept.
  std::uint64_t watch_steps = 0;
  // Statistics are fingerprint_statistics(), and go into one file for each rank
  // (format/tables/fingerprints.h) instead of tables.
  bool fingerprints = false;
  SchemeKind scheme = SchemeKind::rank_tree;
  FileFormat file_format = FileFormat::npy;
  std::filesystem::path root;  // absolute
  std::string net_name;

  std::string dialect;                // "mindspore"
  int failure_number = 0;             // of the dialect's system, for an output that cannot be made
  std::filesystem::path config_path;  // where it came from
  std::string config_text;            // byte copy, for .dump_metadata
  std::vector<std::string> warnings;  // for the user, each with file:line:column where there is one
};

// The plan as text: a few lines "what: value"; the last ones show the files to be written.
std::string describe(const DumpPlan& plan);

// The plan as one indented JSON object with a line feed at the end. "schema_version" is 1 and increases
// when a field changes its meaning or is removed; new fields may be added at any time.
std::string describe_json(const DumpPlan& plan);

}  // namespace opdump::plan
