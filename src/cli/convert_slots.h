// The tensors of a dump as files of other formats, for `opdump convert`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrays/pieces.h"
#include "base/result.h"
#include "base/text_blocks.h"
#include "dump/dump_set.h"
#include "model/format.h"

namespace opdump::cli {

// A tensor to convert, and what it is called: "convolution-op0.output.0", unlike any other of its step.
struct NamedSlot {
  std::uint32_t run = 0, slot = 0;  // by index
  std::uint64_t bytes = 0;          // as dump::Slot::stored_bytes
  std::string_view name;            // of SlotList::names
};

// The tensors of one step of one graph, and the path below the output that is theirs: see place_of.
struct StepSlots {
  const dump::Runs* runs = nullptr;
  std::filesystem::path place;
  std::vector<NamedSlot> slots;

  dump::Slot at(const NamedSlot& named) const { return (*runs)[named.run].slots[named.slot]; }
};

// "rank_0/graph_0/step_3": where the tensors of a step of a graph go, without an end.
std::filesystem::path place_of(const dump::Runs::Section& section);

// Whether a tensor has data, and is the one of its operator that the user wants: "output.0", or any if `slot`
// is empty.
bool is_wanted(const dump::Slot& slot, const std::string& wanted);

struct SlotList {
  std::vector<StepSlots> steps;
  TextBlocks names;
};

// The tensors that are wanted of `chosen`, by step: some of `runs`, in order, of each step all or none.
// Errors: limit -- names of more than 4 GiB.
Result<SlotList> list_slots(const dump::Runs& runs, std::span<const std::uint32_t> chosen,
                            const std::string& wanted);

// An array in the layout `format`, where the dump says in which it is; else as it lies. What the padding of a
// layout added is cut off where the dump says how large the tensor was. Errors: as dump::StoredTensor::read
// and change_layout.
Result<arrays::Array> open_slot(const dump::Slot& slot, std::optional<model::Format> format,
                                unsigned threads);

}  // namespace opdump::cli
