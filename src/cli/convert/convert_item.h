// The output files of `opdump convert`: one for each tensor, or one for all tensors of a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/convert/convert_slots.h"
#include "model/format.h"

namespace opdump::cli {

struct ConvertTarget {
  std::filesystem::path output;
  std::string to;  // "npy", "bin", "txt", "pt", "golden"; "npz", "safetensors": a file for each step
  std::optional<model::Format> format;  // the layout to convert tensors to
  std::string slot;                     // only this slot of each operator: see is_meant

  bool is_dump() const { return to != "bin" && to != "txt" && !is_golden(); }  // with a log of operators
  bool is_golden() const {
    return to == "golden";
  }  // for msaccucmp: the outputs of a step, all in one folder
  bool is_file_each() const { return to != "npz" && to != "safetensors"; }
};

// A file to write.
struct ConvertItem {
  std::string place;                    // below the output: see place_of
  std::span<const std::uint32_t> runs;  // the executions of the step
  std::string name;                     // of a tensor, which is `slot`; empty: all of the step
  dump::Slot slot;
  std::uint64_t bytes = 0;  // of the dump's files
};

// The files of a dump's executions, some at a time.
class ItemLister {
 public:
  // `chosen` must stay where they are.
  ItemLister(const dump::Runs& runs, std::span<const std::uint32_t> chosen, const ConvertTarget& target)
      : runs_(&runs), chosen_(chosen), target_(&target) {}

  // The number of calls of next() for `tensors` selected tensors.
  std::uint64_t rounds(std::uint64_t tensors) const;
  // The next files: a few thousand tensors, or the steps of a few thousand executions.
  std::vector<ConvertItem> next();
  // Lines of mapping.csv, where msaccucmp looks: golden data with names that are too long for files so far.
  const std::string& mapping() const { return mapping_; }

 private:
  std::string name_golden(const dump::Slot& slot);
  std::vector<ConvertItem> next_tensors();
  void enter(std::uint32_t run);
  std::size_t step_end(std::size_t first) const;
  void list_step(std::span<const std::uint32_t> step, std::vector<ConvertItem>& items) const;

  const dump::Runs* runs_;
  std::span<const std::uint32_t> chosen_;
  const ConvertTarget* target_;
  std::size_t next_ = 0;                          // of chosen_
  std::optional<dump::RunSlots> slots_;           // of the one before it, if it is not done
  std::string op_;                                // its name
  const dump::Runs::Section* section_ = nullptr;  // of the last one
  SlotNames names_;                               // of its step
  std::string mapping_;
};

struct ItemResult {
  std::uint64_t converted = 0;
  std::vector<std::string> failures;  // "NAME: why", one for each tensor that could not be
};
// `on_done` gets the number of the item's bytes just processed, from any thread; some may be left out.
using OnDone = std::function<void(std::uint64_t bytes)>;
ItemResult convert_item(const dump::Runs& runs, const ConvertItem& item, const ConvertTarget& target,
                        unsigned threads, const OnDone& on_done);

}  // namespace opdump::cli
