// A dump as text, for tests to compare.
#pragma once

#include <gtest/gtest.h>

#include <string>
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

inline std::vector<Overflow> overflows(const DumpSet& set) {
  std::vector<Overflow> list;
  EXPECT_TRUE(set.visit_overflows([&](const Overflow& overflow) { return list.push_back(overflow), ok(); }));
  return list;
}

}  // namespace opdump::dump
