// One execution of an operator that is being recorded: from opdump_begin() until its rows are written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/graph/graph_recorder.h"
#include "capture/graph/wiring_recorder.h"
#include "capture/jobs/job.h"
#include "capture/operand.h"
#include "capture/operator_table.h"
#include "dump/write/scheme_writer.h"
#include "math/stats/stats.h"
#include "model/tensor_view.h"

namespace opdump::capture {

struct RecordedSlot {
  dump::SlotAddress address;
  model::DType dtype;
  model::Shape shape;
  std::uint64_t data_bytes = 0;
  bool first_is_nan = false;  // see dump::StatisticRow
  bool owns_file = false;     // the job writes this slot's file; other slots link to it
  std::shared_ptr<Job> job;   // null: what there is to know is in statistics
  math::Statistics statistics{};
  dump::StatisticSource source = dump::StatisticSource::host;
};

// An input that outlives the operator, for recordings that watch.
struct KeptInput {
  Operand operand;
  KeepAlive keep_alive;
};

struct Call {
  const DefinedOperator* op = nullptr;
  std::int64_t step = 0, graph_id = 0;
  bool records_data = false;  // the operator is selected; otherwise the call matters to the graph only
  std::vector<RecordedSlot> slots;
  // Holds inputs without data, of a call that may turn out not to be wanted.
  std::vector<std::pair<Operand, std::string>> undumped;

  WiringCall wiring;
  std::vector<GraphTensor> inputs;  // until they are in the graph, with the outputs
  bool is_first = false;            // of its operator: the graph wants its detail
  bool is_noted = false;            // in the graph, before its outputs are there
  bool has_new_arguments = false;   // unlike those of its operator's last call
  NodeDetail detail;
  bool reads_non_finite = false;  // an input or an argument is infinite or NaN; looked for in overflow mode
  bool may_ask = false;           // an argument is an infinity; known where the recording watches
  std::vector<KeptInput> kept;
  std::optional<std::uint32_t> overflowed;  // index of its first output with an infinity or NaN
  std::vector<model::Argument> arguments;   // for the file of arguments

  std::shared_ptr<Job> container;  // writes all slots into one file, where the scheme has it so

  std::string describe() const { return op->op.name + ", step " + std::to_string(step); }
  bool is_done() const {
    if (container) return container->is_done();
    return std::ranges::all_of(slots,
                               [](const RecordedSlot& slot) { return !slot.job || slot.job->is_done(); });
  }
};

}  // namespace opdump::capture
