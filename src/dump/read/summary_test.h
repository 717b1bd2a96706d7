// A dump as text, for tests to compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dump/read/dump_set.h"

namespace opdump::dump {

// "rank/graph/step type name: i0 i1 o0", one string a run; 'f' has a file, 's' statistics.
inline std::vector<std::string> summary(const DumpSet& set) {
  std::vector<std::string> lines;
  for (const OperatorRun& run : set.runs()) {
    std::string line = std::to_string(run.rank) + "/" + std::to_string(run.graph_id) + "/" +
                       std::to_string(run.step) + " " + run.type + " " +
                       (run.op != nullptr ? run.op->name : run.name) + ":";
    for (const Slot& slot : run.slots) {
      line += slot.side == model::Side::input ? " i" : " o";
      line += std::to_string(slot.index);
      if (!slot.file.empty()) line += "f";
      if (!slot.statistics.empty()) line += "s";
      if (!slot.undumped_reason.empty()) line += "(" + slot.undumped_reason + ")";
    }
    lines.push_back(line);
  }
  return lines;
}

// Adds `run` with its slots, whose files lie in `directory`.
inline void add_run(Runs& runs, std::uint32_t section, const OperatorRun& run,
                    std::string_view directory = {}) {
  std::vector<std::uint32_t> slots;
  for (const Slot& slot : run.slots) slots.push_back(runs.store().add(slot, directory));
  runs.add(section, run, slots);
}

}  // namespace opdump::dump
