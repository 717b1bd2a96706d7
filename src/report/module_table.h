// A comparison by module: how many operators differ, by how much, and since which step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "compare/compare.h"
#include "report/module_tree.h"

namespace opdump::report {

class ModuleTable {
 public:
  void add(const compare::OperatorComparison& op);
  // A line for each module, indented by its depth, under a header; nothing if nothing was added. Lines have
  // at most `width` columns if that is not 0, and there are at most `most` of them unless there are more
  // outermost modules.
  void print(std::size_t width, std::size_t most,
             const std::function<void(std::string_view line)>& write) const;

 private:
  struct Totals {
    std::uint64_t operators = 0, differing = 0;
    double worst = 0;  // the largest relative error
    std::optional<std::int64_t> first_step{};
    Totals& operator+=(const Totals& more);
  };
  ModuleTree<Totals> tree_;
};

}  // namespace opdump::report
