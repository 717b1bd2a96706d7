// The tensors of a dump as files of other formats, for `opdump convert`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "arrays/pieces.h"
#include "base/result.h"
#include "dump/dump_set.h"
#include "model/format.h"

namespace opdump::cli {

// A tensor to convert, and what it is called: "convolution-op0.output.0", unlike any other of its step.
struct NamedSlot {
  const dump::Slot* slot = nullptr;
  std::string name;
};

// The tensors of one step of one graph, and the path below the output that is theirs, without an end:
// "rank_0/graph_0/step_3".
struct StepSlots {
  std::filesystem::path place;
  std::vector<NamedSlot> slots;
};

// The tensors of `runs` that have data, by step. `slot` ("output.0") picks one of each operator; empty: all.
std::vector<StepSlots> list_slots(const std::vector<const dump::OperatorRun*>& runs, const std::string& slot);

// An array in the layout `format`, where the dump says in which it is; else as it lies. What the padding of a
// layout added is cut off where the dump says how large the tensor was. Errors: as dump::StoredTensor::read
// and change_layout.
Result<arrays::Array> open_slot(const dump::Slot& slot, std::optional<model::Format> format,
                                unsigned threads);

}  // namespace opdump::cli
