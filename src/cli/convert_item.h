// The files that `opdump convert` writes: one for a tensor, or one for all tensors of a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/convert_slots.h"
#include "model/format.h"

namespace opdump::cli {

struct ConvertTarget {
  std::filesystem::path output;
  std::string to;  // "npy", "bin", "txt", "pt"; "npz", "safetensors": a file for each step
  std::optional<model::Format> format;  // the layout to bring tensors into

  bool is_file_each() const { return to != "npz" && to != "safetensors"; }
};

// A file to write.
struct ConvertItem {
  const StepSlots* step = nullptr;
  const NamedSlot* slot = nullptr;  // null: all of the step
  std::uint64_t bytes = 0;          // of the dump's files
};
std::vector<ConvertItem> list_items(const std::vector<StepSlots>& steps, const ConvertTarget& target);

struct ItemResult {
  std::uint64_t converted = 0;
  std::vector<std::string> failures;  // "NAME: why", one for each tensor that could not be
};
ItemResult convert_item(const ConvertItem& item, const ConvertTarget& target, unsigned threads);

}  // namespace opdump::cli
